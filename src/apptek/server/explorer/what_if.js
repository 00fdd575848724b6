// What if: facts that are struck out, what the answer is without them, and how to take it back.

import { post } from "./api.js";
import { all, button, byId, el, waiting } from "./dom.js";
import { firstShown, rankingOf } from "./ranking.js";
import { readFacts } from "./state.js";
import { counted, percent, shown, timely } from "./wording.js";

const MOST = 100; // facts that the service leaves out at once
const TOO_MANY = `Only ${MOST} facts can be struck out at once.`;
const NOTHING = "No set of up to 40 facts that were tried would change the answer.";

const factText = ({ subject, predicate, object, date }) =>
  `${shown(subject)} · ${shown(predicate)} · ${shown(object)}${timely(`, ${date}`)}`;

export class WhatIf {
  // page: what is shown; onChange(state): explain again.
  constructor(page, { onChange }) {
    this.page = page;
    this.onChange = onChange;
  }

  // The facts that are struck out, by number.
  get facts() {
    return readFacts(this.page.state.without).slice(0, MOST);
  }

  async strike(facts) {
    const struck = [...new Set([...this.facts, ...facts])];
    if (struck.length > MOST) {
      byId("reasons-note").textContent = TOO_MANY;
      return;
    }
    await this.change(struck);
    byId("what-if").scrollIntoView({ block: "center" });
  }

  undo(facts) {
    return this.change(this.facts.filter((fact) => !facts.includes(fact)));
  }

  // The button that was pressed goes, so what it has changed gets the focus.
  async change(facts) {
    await this.onChange({ without: facts.join(","), reason: null });
    const box = byId("what-if");
    if (document.activeElement !== document.body) return;
    (box.hidden ? byId("answer-card") : box).focus({ preventScroll: true });
  }

  // Strikes out a small set of facts whose removal changes the answer.
  async findSmallest(query, signal) {
    const request = post("/api/counterfactual", query, signal);
    const { removed } = await waiting([byId("reasons-card")], request);
    if (signal.aborted) return;
    if (removed.length) await this.strike(removed.map(({ fact }) => fact));
    else byId("reasons-note").textContent = NOTHING;
  }

  // The explanation without the facts that are struck out, and the answer from all facts, which the
  // page may have already. key: the question and its view
  async explain(body, key, signal) {
    const { facts: without, page } = this;
    const asked = { ...body, without };
    const { subject, object, time, view, allow_unknown: general } = body;
    const isKept = page.answer?.key === key;
    const [first, whole] = await Promise.all([
      post("/api/explain", asked, signal),
      without.length && !isKept
        ? post("/api/predict", { subject, object, time, view, allow_unknown: general }, signal)
        : null,
    ]);
    const ranking = whole?.answers[0].predicates ?? rankingOf(first);
    const answer = isKept ? page.answer : { key, predicates: ranking };
    const isHiding = page.state.hide === "1";
    const predicate = body.predicate ?? firstShown(first.ranked, answer.predicates, isHiding);
    if (body.predicate || predicate === first.predicate) return [first, answer];
    return [await post("/api/explain", { ...asked, predicate }, signal), answer];
  }

  // before: the predicates of the whole answer; after: the explanation without these facts.
  show(before, after) {
    const box = byId("what-if");
    const { without: facts } = after;
    box.hidden = facts.length === 0;
    for (const note of all("[data-whole]")) note.hidden = box.hidden;
    const isCut = readFacts(this.page.state.without).length > MOST;
    const parts = [
      isCut ? el("p", {}, TOO_MANY) : "",
      el(
        "p",
        {},
        el("b", {}, `What if ${counted(facts.length, "fact")} had not happened? `),
        el("span", { id: "what-if-words" }, changeText(before[0], after.ranked[0])),
      ),
      el("ul", {}, ...facts.map((fact) => this.chip(fact))),
      button("Undo all", () => this.undo(this.facts)),
    ];
    box.replaceChildren(...(box.hidden ? [] : parts));
  }

  chip(fact) {
    const attributes = { class: "undo", "aria-label": `Undo: ${factText(fact)}` };
    const undo = button("↶", () => this.undo([fact.fact]), attributes);
    return el("li", {}, el("s", {}, factText(fact)), undo);
  }
}

export function changeText(before, after) {
  const was = `${shown(before.label)} (${percent(before.probability)})`;
  if (after.predicate === before.predicate) {
    return `It stays ${was}, now with ${percent(after.probability)}.`;
  }
  return `The answer would be ${shown(after.label)} (${percent(after.probability)}) instead of ${was}.`;
}
