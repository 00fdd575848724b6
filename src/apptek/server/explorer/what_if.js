// What if: removed or supposed facts, the resulting answer, and how to undo them.

import { post } from "./api.js";
import { all, button, byId, el, soft, undoButton, waiting } from "./dom.js";
import { rankingOf } from "./ranking.js";
import { readFacts, readSupposed, writeSupposed } from "./state.js";
import { counted, percent, shown, signed, timely } from "./wording.js";

const NOTHING = "No set of up to 40 facts was found that would change the answer.";

const factText = ({ subject, predicate, object, date }) =>
  `${shown(subject)} · ${shown(predicate)} · ${shown(object)}${timely(`, ${date}`)}`;

export class WhatIf {
  // page: what is shown; onChange(state): explain again.
  constructor(page, { onChange }) {
    this.page = page;
    this.onChange = onChange;
  }

  // The removed facts, by number.
  get facts() {
    return readFacts(this.page.state.without);
  }

  // The facts that are supposed.
  get supposed() {
    return readSupposed(this.page.state.suppose);
  }

  async suppose(fact) {
    await this.onChange({ suppose: writeSupposed([...this.supposed, fact]), reason: null });
    byId("what-if").scrollIntoView({ block: "center" });
    byId("what-if").focus({ preventScroll: true });
  }

  dropSupposed(place) {
    const kept = this.supposed.filter((_, other) => other !== place);
    return this.onChange({ suppose: writeSupposed(kept), reason: null });
  }

  async strike(facts) {
    await this.change([...new Set([...this.facts, ...facts])]);
    byId("what-if").scrollIntoView({ block: "center" });
  }

  undo(facts) {
    return this.change(this.facts.filter((fact) => !facts.includes(fact)));
  }

  // The pressed button disappears, so the part that it changed gets the focus.
  async change(facts) {
    await this.onChange({ without: facts.join(","), reason: null });
    const box = byId("what-if");
    if (document.activeElement !== document.body) return;
    (box.hidden ? byId("answer-card") : box).focus({ preventScroll: true });
  }

  // Removes a small set of facts whose removal changes the answer.
  async findSmallest(query, signal) {
    const request = post("/api/counterfactual", query, signal);
    const { removed } = await waiting([byId("reasons-card")], request);
    if (signal.aborted) return;
    if (removed.length) await this.strike(removed.map(({ fact }) => fact));
    else byId("reasons-note").textContent = NOTHING;
  }

  // The explanation without the removed facts, and the answer from all facts, which the page may
  // already have. key: the question and its view
  async explain(body, key, signal) {
    const { facts: without, page } = this;
    const asked = { ...body, without, suppose: this.supposed };
    const { subject, object, time, view, allow_unknown: general } = body;
    const isKept = page.answer?.key === key;
    const [first, whole] = await Promise.all([
      post("/api/explain", asked, signal),
      without.length && !isKept
        ? post("/api/predict", { subject, object, time, view, allow_unknown: general }, signal)
        : null,
    ]);
    const ranking = rankingOf(whole?.answers[0] ?? first);
    const answer = isKept ? page.answer : { key, predicates: ranking };
    return [first, answer];
  }

  // before: the predicates of the full answer; after: the explanation without these facts.
  show(before, after) {
    const box = byId("what-if");
    const { without: facts, what_if: supposed } = after;
    box.hidden = facts.length === 0 && !supposed;
    for (const note of all("[data-whole]")) note.hidden = facts.length === 0;
    const removed = [
      el(
        "p",
        {},
        el("b", {}, `What if ${counted(facts.length, "fact")} had not happened? `),
        el("span", { id: "what-if-words" }, changeText(before[0], after.ranked[0])),
      ),
      el("ul", {}, ...facts.map((fact) => this.chip(fact))),
      button("Undo all", () => this.undo(this.facts)),
    ];
    const parts = [...(facts.length ? removed : []), ...(supposed ? this.added(supposed) : [])];
    box.replaceChildren(...parts);
  }

  // What supposed facts change: the probabilities side by side, and the reasons that change most.
  added({ sentence, facts, chances, changes, notes }) {
    const chips = facts.map((fact, place) => {
      const undo = undoButton(`Undo: ${shown(fact.sentence)}`, () => this.dropSupposed(place));
      return el("li", {}, factText(fact), undo);
    });
    const rows = chances
      .filter(({ kind }) => kind === "predicate")
      .slice(0, 4)
      .map(({ label, without, supposed }) =>
        el(
          "tr",
          {},
          el("td", {}, shown(label)),
          el("td", {}, percent(without)),
          el("td", {}, el("b", {}, percent(supposed))),
        ),
      );
    const head = ["If something happens", "now", "with it"].map((text) => el("th", {}, text));
    const reasons = changes.slice(0, 3).map((change) => {
      const words = shown(change.second_sentence || change.first_sentence);
      return el("li", {}, `${signed(change.change)} ${words}`);
    });
    return [
      el("p", {}, el("b", {}, "What if this happened? "), shown(sentence)),
      el("ul", {}, ...chips),
      el(
        "table",
        { class: "supposed" },
        el("thead", {}, el("tr", {}, ...head)),
        el("tbody", {}, ...rows),
      ),
      reasons.length
        ? el("ol", { class: "soft", "aria-label": "Reasons that change" }, ...reasons)
        : "",
      ...notes.map(({ text }) => soft(shown(text))),
    ];
  }

  chip(fact) {
    const undo = undoButton(`Undo: ${factText(fact)}`, () => this.undo([fact.fact]));
    return el("li", {}, el("s", {}, factText(fact)), undo);
  }
}

export function changeText(before, after) {
  const was = `${shown(before.label)} (${percent(before.probability)})`;
  if (after.predicate === before.predicate) {
    return `The answer is still ${shown(before.label)} (from ${percent(before.probability)} to ${percent(after.probability)}).`;
  }
  return `The answer would be ${shown(after.label)} (${percent(after.probability)}) instead of ${was}.`;
}
