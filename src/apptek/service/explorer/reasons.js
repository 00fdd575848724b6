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
    const { reasons, against, further, groups, bias, log_odds: total } = explanation;
    const numbered = [...reasons, ...against];
    const values = [...numbered, ...groups].map(({ log_odds: value }) => value);
    values.push(bias, total);
    const scale = { low: Math.min(0, ...values), high: Math.max(0, ...values, 1e-9) };
    byId("reasons-note").textContent = shown(explanation.sentence);
    const other = shown(explanation.runner_up_label);
    const titled = (title, items) =>
      items.length
        ? [
            el("li", { class: "side" }, title),
            ...items.map((reason) => this.item(reason, selected, scale)),
          ]
        : [];
    replaceChoices(byId("reasons"), [
      ...titled("For it", reasons),
      ...titled(`Against it, and for ${other}`, against),
    ]);
    byId("sums").replaceChildren(
      ...groups.map((group) => groupOf(group, further, scale)),
      line("how common the two are in general", bias, scale),
      line(`log-odds against ${other}`, total, scale, "total"),
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

// Small reasons taken together; they unfold.
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
  const bundles = bundlesOf(reason);
  byId("facts-title").textContent = reason ? `Facts of reason ${reason.number}` : "Facts";
  if (bundles.length) {
    byId("facts").replaceChildren(...bundles.map((bundle) => bundleOf(bundle, isFar)));
    byId("facts").append(...statisticsOf(reason));
    return;
  }
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
  byId("facts").append(...statisticsOf(reason));
}

// What training says about a reason, and what a single such fact adds, by its distance.
function statisticsOf(reason) {
  const { support, curve = [] } = reason ?? {};
  const parts = [];
  if (support) parts.push(el("p", { class: "soft" }, support.words));
  if (curve.length) {
    const values = curve.map(({ log_odds: value }) => value);
    const scale = { low: Math.min(0, ...values), high: Math.max(0, ...values, 1e-9) };
    const label = "What a single such fact would add, by its distance in time";
    const lines = curve.map(({ apart, log_odds: value }) => line(apart, value, scale));
    parts.push(el("details", {}, el("summary", {}, label), ...lines));
  }
  return parts;
}

// The facts of one entity by partner, where there are several and one of them repeatedly.
function bundlesOf(reason) {
  const { partners = [], facts = [], family = "" } = reason ?? {};
  if (partners.length < 2 || partners.length === facts.length) return [];
  const partner = (fact) => (family.endsWith("out") ? fact.object : fact.subject);
  return partners.map(({ entity }) => ({
    entity,
    facts: facts.filter((fact) => partner(fact) === entity),
  }));
}

function bundleOf({ entity, facts }, isFar) {
  const label = `${counted(facts.length, "fact")} with ${shown(entity)}`;
  const open = facts.length <= OPEN ? "" : null;
  return el("details", { open }, el("summary", {}, label), table(facts, isFar));
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
