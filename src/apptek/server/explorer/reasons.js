// The reasons in an explanation: the contribution of each to the log-odds, and the facts it cites.

import { button, byId, el, replaceChoices, soft, span, track } from "./dom.js";
import { counted, shown, signed, timely } from "./wording.js";

const OPEN = 12; // number of facts shown at first; the others can be expanded
const WITHOUT_FACTS = {
  trait: "about what types of actors they are",
  reranker: "what the re-ranker adds to the other reasons",
  counting: "what counting facts adds to the other reasons",
};

const NO_REASON = "There are no reasons, so there are no facts to show.";

// The topic of a reason without facts.
export const aboutOf = ({ kind }) => WITHOUT_FACTS[kind] ?? "about what usually happens";

// The reason with a given number; if there is none, the first one with facts.
export function chosenOf({ reasons, against }, chosen) {
  const numbered = [...reasons, ...against];
  return (
    numbered.find(({ number }) => String(number) === String(chosen)) ??
    numbered.find(({ facts }) => facts.length) ??
    numbered[0]
  );
}

export class Reasons {
  // onSelect(number): a reason was selected; onPoint(reason or null): the pointer is over one.
  constructor({ onSelect, onPoint }) {
    this.onSelect = onSelect;
    this.onPoint = onPoint;
  }

  show(explanation, selected) {
    const { reasons, against, further, groups, bias, log_odds: total } = explanation;
    const numbered = [...reasons, ...against];
    const values = [...numbered, ...groups].map(({ log_odds: value }) => Math.abs(value));
    const scale = Math.max(...values, Math.abs(bias), Math.abs(total), 1e-9);
    byId("reasons-note").textContent = "";
    const other = shown(explanation.runner_up_label);
    byId("against-title").textContent = `For ${other} instead`;
    for (const [id, items] of [
      ["reasons", reasons],
      ["against", against],
    ]) {
      const rows = items.map((reason) => this.item(reason, selected, scale));
      const none = el("li", { class: "soft" }, "No single important reason.");
      replaceChoices(byId(id), rows.length ? rows : [none]);
    }
    const count = groups.reduce((sum, { members }) => sum + members.length, 0);
    byId("further").hidden = groups.length === 0;
    byId("further").querySelector("summary").textContent =
      `${counted(count, "smaller reason")}, and the total`;
    byId("sums").replaceChildren(
      ...groups.map((group) => groupOf(group, further, scale)),
      line("base rates of the two predicates", bias, scale),
      line(`log-odds against ${other}`, total, scale, "total"),
    );
  }

  clear() {
    byId("facts-title").textContent = "Facts";
    for (const id of ["reasons-note", "reasons", "against", "sums", "facts"]) {
      byId(id).replaceChildren();
    }
    byId("further").hidden = true;
  }

  item(reason, selected, scale) {
    const { number, sentence, log_odds: value, same_as: same, facts } = reason;
    const about = [
      facts.length ? counted(facts.length, "fact") : aboutOf(reason),
      same ? `same connection as reason ${same}` : null,
    ];
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: "reason",
          "aria-pressed": String(number === selected),
          onclick: () => this.onSelect(number),
          onpointerenter: () => this.onPoint(reason),
          onpointerleave: () => this.onPoint(null),
          onfocus: () => this.onPoint(reason),
          onblur: () => this.onPoint(null),
        },
        span("number", String(number)),
        span("words", shown(sentence), span("about", about.filter(Boolean).join(" · "))),
        el("span", { class: "value", title: "What it adds to the log-odds" }, signed(value)),
        strengthBar(value, scale),
      ),
    );
  }
}

// Small reasons combined; they can be expanded.
function groupOf({ title, log_odds: value, members }, further, scale) {
  const label = `${shown(title)} (${counted(members.length, "reason")})`;
  const parts = members.map((index) => further[index]);
  return el(
    "details",
    { class: "group" },
    el("summary", {}, line(label, value, scale)),
    ...parts.map((part) => line(shown(part.sentence), part.log_odds, scale, "member")),
  );
}

function line(label, value, scale, kind = "") {
  return el(
    "div",
    { class: `sum ${kind}` },
    span("words", label),
    span("value", signed(value)),
    strengthBar(value, scale),
  );
}

// The strength of a reason; its colour shows which side it supports.
const strengthBar = (value, scale) => track(Math.abs(value) / scale, value < 0 ? "minus" : "plus");

// The facts on the path from subject to object, and the others; for a history, all facts count.
export function pathFirst(reason) {
  const leads = reason?.kind === "topology";
  const facts = reason?.facts ?? [];
  const isAside = (fact) => leads && fact.on_path === false;
  return [facts.filter((fact) => !isAside(fact)), facts.filter(isAside)];
}

// Lists the facts of a reason, those on the path from subject to object first.
// onStrike(fact): remove a fact, if the model allows it.
export function showFacts(reason, onStrike) {
  const [path, others] = pathFirst(reason);
  const folded = [...path.slice(OPEN), ...others];
  byId("facts-title").textContent = reason ? `The facts of reason ${reason.number}` : "Facts";
  byId("facts").replaceChildren(
    ...statisticsOf(reason),
    path.length
      ? table(path.slice(0, OPEN), onStrike)
      : soft(reason ? `This reason is ${aboutOf(reason)}; it cites no facts.` : NO_REASON),
  );
  if (folded.length) {
    const label =
      folded.length === others.length
        ? `${counted(others.length, "other fact")} leading elsewhere`
        : counted(folded.length, "more fact");
    byId("facts").append(el("details", {}, el("summary", {}, label), table(folded, onStrike)));
  }
}

// The training statistics for a reason.
function statisticsOf(reason) {
  const { support } = reason ?? {};
  const parts = [];
  if (support) parts.push(el("p", { class: "soft support" }, support.words));
  if (reason?.kind === "topology") {
    const steps = reason.topology.map((name) => `'${shown(name)}'`).join(", then ");
    parts.push(soft(`Full topology: ${steps}`));
  }
  return parts;
}

export function table(facts, onStrike = null) {
  const strike = (fact) => {
    const words = `${shown(fact.subject)} ${shown(fact.predicate)} ${shown(fact.object)}`;
    const attributes = {
      class: "strike",
      title: "What if this had not happened?",
      "aria-label": `Strike out: ${words}${timely(`, ${fact.date}`)}`,
    };
    return el(
      "td",
      { class: "act" },
      button("Strike out", () => onStrike(fact), attributes),
    );
  };
  const row = (fact) =>
    el(
      "tr",
      {},
      el(
        "td",
        {},
        shown(fact.subject),
        span("predicate", ` ${shown(fact.predicate)} `),
        shown(fact.object),
      ),
      el("td", { class: "when" }, timely(shown(fact.date))),
      el("td", { class: "when soft" }, fact.apart ?? ""),
      onStrike ? strike(fact) : null,
    );
  return el("table", {}, el("tbody", {}, ...facts.map(row)));
}
