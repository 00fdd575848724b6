// The reasons of an explanation: what each adds to the log-odds, and the facts it cites.

import { byId, el, replaceChoices } from "./dom.js";
import { counted, shown, signed } from "./wording.js";

const OPEN = 12; // facts that are shown at once; the others unfold
const KINDS = { topology: "topology", history: "history", trait: "trait", reranker: "re-ranker" };
const WITHOUT_FACTS = {
  trait: "This reason is about who the two are",
  reranker: "This is what the re-ranker adds to the other reasons",
};

const NO_REASON = "There is no reason, so there are no facts to show.";

// What a reason without facts is about.
export const aboutOf = ({ kind }) => WITHOUT_FACTS[kind] ?? "This reason is about what is usual";

export const drawingOf = (explanation, reason) =>
  explanation.drawings.find(({ number }) => number === (reason?.same_as || reason?.number));

export class Reasons {
  constructor({ onSelect }) {
    this.onSelect = onSelect;
  }

  show(explanation, selected) {
    const { reasons, further, bias, log_odds: total } = explanation;
    const rest = further.reduce((sum, reason) => sum + reason.log_odds, 0);
    const values = [...reasons.map((reason) => reason.log_odds), rest, bias, total];
    const scale = { low: Math.min(0, ...values), high: Math.max(0, ...values, 1e-9) };
    const count = reasons.length + further.length;
    const note = "the strongest first. Together with the base rates they add up to the log-odds.";
    byId("reasons-note").textContent = count
      ? `${counted(count, "reason")}, ${note}`
      : "Nothing connects the two: the answer comes from the base rates alone.";
    replaceChoices(
      byId("reasons"),
      reasons.map((reason) => this.item(reason, selected, scale)),
    );
    byId("sums").replaceChildren(
      ...(further.length ? [line(counted(further.length, "further reason"), rest, scale)] : []),
      line("base rates", bias, scale),
      line(`log-odds against ${shown(explanation.runner_up)}`, total, scale, "total"),
    );
  }

  clear() {
    byId("reasons-note").textContent = "";
    byId("reasons").replaceChildren();
    byId("sums").replaceChildren();
  }

  item(reason, selected, scale) {
    const { number, sentence, log_odds: value, same_as: same, facts } = reason;
    const about = [
      KINDS[reason.kind ?? "topology"] ?? reason.kind,
      facts.length ? counted(facts.length, "fact") : "no facts",
      same ? `same connection as ${same}` : null,
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
        },
        el("span", { class: "number" }, String(number)),
        el(
          "span",
          { class: "words" },
          shown(sentence),
          el("span", { class: "about" }, about.filter(Boolean).join(" · ")),
        ),
        el("span", { class: "value" }, signed(value)),
        signedBar(value, scale),
      ),
    );
  }
}

function line(label, value, scale, kind = "") {
  return el(
    "div",
    { class: `sum ${kind}` },
    el("span", { class: "words" }, label),
    el("span", { class: "value" }, signed(value)),
    signedBar(value, scale),
  );
}

function signedBar(value, { low, high }) {
  const at = (number) => (100 * (number - low)) / (high - low);
  const left = at(Math.min(value, 0));
  return el(
    "span",
    { class: "track signed" },
    el("span", {
      class: `fill ${value < 0 ? "minus" : "plus"}`,
      style: { left: `${left}%`, width: `${at(Math.max(value, 0)) - left}%` },
    }),
    el("span", { class: "zero", style: { left: `${at(0)}%` } }),
  );
}

// Lists the facts of a reason: those on the path from subject to object first.
export function showFacts(reason, isFar) {
  const facts = reason?.facts ?? [];
  const path = facts.filter((fact) => fact.on_path !== false);
  const others = facts.filter((fact) => fact.on_path === false);
  const folded = [...path.slice(OPEN), ...others];
  byId("facts-title").textContent = reason ? `Facts of reason ${reason.number}` : "Facts";
  byId("facts").replaceChildren(
    path.length
      ? table(path.slice(0, OPEN), isFar)
      : el("p", { class: "soft" }, reason ? `${aboutOf(reason)}; it cites no facts.` : NO_REASON),
  );
  if (folded.length) {
    const label =
      folded.length === others.length
        ? `${counted(others.length, "other fact")} leading elsewhere`
        : counted(folded.length, "more fact");
    byId("facts").append(el("details", {}, el("summary", {}, label), table(folded, isFar)));
  }
}

export function table(facts, isFar = () => false) {
  const row = (fact) =>
    el(
      "tr",
      { class: isFar(fact) ? "far" : null },
      el(
        "td",
        {},
        shown(fact.subject),
        el("span", { class: "predicate" }, ` ${shown(fact.predicate)} `),
        shown(fact.object),
      ),
      el("td", { class: "when" }, shown(fact.date)),
      el("td", { class: "when soft" }, fact.apart ?? ""),
    );
  return el("table", {}, el("tbody", {}, ...facts.map(row)));
}
