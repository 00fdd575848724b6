// The reasons in an explanation: the contribution of each to the log-odds, and the facts it cites.

import { button, byId, choice, el, replaceChoices, soft, span, track } from "./dom.js";
import { counted, shown, signed, timely } from "./wording.js";

const OPEN = 12; // number of facts shown at first; the others can be expanded
const WITHOUT_FACTS = {
  trait: "about what types of actors they are",
  reranker: "what the re-ranker adds to the other reasons",
  counting: "what counting facts adds to the other reasons",
};

const LEAST = 0.005; // log-odds; a smaller contribution would be shown as 0.00
const RECORDED = "recorded"; // the group of the answer's own fact: it is not evidence

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

const bySize = (a, b) => Math.abs(b.log_odds) - Math.abs(a.log_odds);
const isVisible = ({ log_odds: value }) => Math.abs(value) >= LEAST;

// The rows of an explanation, largest first: the evidence for and against, and smaller groups.
// A group is evidence if it is at least as strong as the weakest reason beside it. Rows that
// would be shown as 0.00 are left out.
export function rowsOf({ reasons, against, groups, further }) {
  const visible = groups
    .map((group) => ({ ...group, parts: group.members.map((index) => further[index]) }))
    .map((group) => ({ ...group, parts: group.parts.filter(isVisible) }))
    .filter((group) => isVisible(group) || group.parts.length);
  const withGroups = (listed, isOnThisSide) => {
    const weakest = Math.min(...listed.map(({ log_odds: value }) => Math.abs(value)));
    const least = listed.length ? weakest : LEAST;
    const strong = visible.filter(
      ({ name, log_odds: value }) =>
        name !== RECORDED && isOnThisSide(value) && Math.abs(value) >= least,
    );
    return [...listed, ...strong].toSorted(bySize);
  };
  const rows = {
    forIt: withGroups(reasons.filter(isVisible), (value) => value >= LEAST),
    against: withGroups(against.filter(isVisible), (value) => value <= -LEAST),
  };
  const shownAbove = new Set([...rows.forIt, ...rows.against]);
  return { ...rows, smaller: visible.filter((group) => !shownAbove.has(group)) };
}

export class Reasons {
  // onSelect(number): a reason was selected; onPoint(reason or null): the pointer is over one.
  constructor({ onSelect, onPoint }) {
    this.onSelect = onSelect;
    this.onPoint = onPoint;
  }

  show(explanation, selected) {
    const { reasons, against, groups, bias, log_odds: total } = explanation;
    const { forIt, against: opposed, smaller } = rowsOf(explanation);
    const numbered = [...reasons, ...against];
    const values = [...numbered, ...groups].map(({ log_odds: value }) => Math.abs(value));
    const scale = Math.max(...values, Math.abs(bias), Math.abs(total), 1e-9);
    byId("reasons-note").textContent = "";
    const other = shown(explanation.runner_up_label);
    byId("against-title").textContent = `For ${other} instead`;
    for (const [id, items] of Object.entries({ reasons: forIt, against: opposed })) {
      const rows = items.map((item) =>
        item.parts ? el("li", {}, groupOf(item, scale)) : this.item(item, selected, scale),
      );
      const none = el("li", { class: "soft" }, "No single important reason.");
      replaceChoices(byId(id), rows.length ? rows : [none]);
    }
    const count = smaller.reduce((sum, { parts }) => sum + parts.length, 0);
    byId("further").hidden = groups.length === 0;
    byId("further").querySelector("summary").textContent = count
      ? `${counted(count, "smaller reason")}, and the total`
      : "The total";
    byId("sums").replaceChildren(
      ...smaller.map((group) => groupOf(group, scale)),
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
    return choice(
      {
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
    );
  }
}

// Reasons combined; several can be expanded.
function groupOf({ title, log_odds: value, parts }, scale) {
  if (parts.length < 2) return line(shown(title), value, scale);
  const label = `${shown(title)} (${counted(parts.length, "reason")})`;
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
