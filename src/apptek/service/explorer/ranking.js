// The ranked predicates as bars, one of which is selected.

import { byId, el, replaceChoices } from "./dom.js";
import { counted, labelled, percent, shown } from "./wording.js";

const FIRST = 10; // bars before "Show more"
const CLASSES = 6; // classes and groups that are shown

const knownOf = ({ predicates }) =>
  new Set(predicates.filter(({ known }) => known).map(({ predicate }) => predicate));

// The first of ranked predicates that is not hidden.
export function firstShown({ answer, state }, ranked) {
  const hidden = state.hide === "1" ? knownOf(answer) : new Set();
  return (ranked.find(({ predicate }) => !hidden.has(predicate)) ?? ranked[0]).predicate;
}

// The predicate to explain: the chosen one, else the first that is not hidden. null: after facts
// were struck out, the service says which one that is.
export function toExplain(page) {
  const { answer, state } = page;
  if (state.predicate) return state.predicate;
  return state.without ? null : firstShown(page, answer.predicates);
}

// The predicates without those that are hidden, and which of them have a bar: the first, and the
// selected one.
export function listedOf(predicates, { hide, isWhole, selected }) {
  const visible = predicates.filter(({ known }) => !(hide && known));
  const listed = visible.filter(
    ({ predicate }, index) => isWhole || index < FIRST || predicate === selected,
  );
  return [visible, listed];
}

/** @type {(predicate: string) => string} */
const neutral = () => "neutral";

export class Ranking {
  constructor({ onSelect }) {
    this.onSelect = onSelect;
    this.isWhole = false; // whether all predicates are listed
    byId("more").addEventListener("click", () => this.drawAll());
  }

  // The predicates of an answer; after facts were struck out, with what they were before.
  showAnswer(page, tones) {
    const { answer, explanation, state } = page;
    const whole = answer.predicates;
    const known = knownOf(answer);
    const now = state.without && explanation?.without.length ? explanation.ranked : null;
    const struck = now?.map((each) => ({ ...each, known: known.has(each.predicate) }));
    this.show(struck ?? whole, {
      hide: state.hide === "1",
      selected: toExplain(page) ?? explanation?.predicate,
      toneOf: (predicate) => tones.ofPredicate(predicate),
      before: now && new Map(whole.map((each) => [each.predicate, each.probability])),
    });
  }

  // toneOf(predicate): the colour of its class; before: probabilities to compare with, or null
  show(predicates, { hide, selected, toneOf = neutral, before = null }) {
    // What was unfolded stays so while the answer is the same.
    this.isWhole = this.isWhole && predicates === this.predicates;
    this.predicates = predicates;
    this.hide = hide;
    this.selected = selected;
    this.toneOf = toneOf;
    this.before = before;
    this.draw();
  }

  draw() {
    const [visible, listed] = listedOf(this.predicates, this);
    const most = Math.max(...visible.map(({ probability }) => probability), 1e-9);
    replaceChoices(
      byId("bars"),
      listed.map((ranked) => this.row(ranked, most)),
    );
    const hidden = this.predicates.length - visible.length;
    const rest = visible.length - listed.length;
    byId("more").hidden = rest === 0;
    byId("more").textContent = `Show ${rest} more`;
    byId("bars").toggleAttribute("data-empty", visible.length === 0);
    byId("ranking-title").textContent = hidden
      ? `Most probable (${counted(hidden, "known one")} hidden)`
      : "Most probable";
  }

  // The button disappears, so the first new row gets its focus.
  drawAll() {
    this.isWhole = true;
    this.draw();
    byId("bars").children[FIRST]?.querySelector("button").focus();
  }

  row({ predicate, label, probability, known }, most) {
    const title = "A recorded fact has this predicate";
    const tag = known ? el("span", { class: "tag", title }, "known") : null;
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: `bar tone-${this.toneOf(predicate)}`,
          "aria-pressed": String(predicate === this.selected),
          onclick: () => this.onSelect(predicate),
        },
        el("span", { class: "name" }, labelled(predicate, label), tag),
        el("span", { class: "value" }, percent(probability)),
        el(
          "span",
          { class: "track" },
          el("span", { class: "fill tone", style: { width: `${(100 * probability) / most}%` } }),
          this.ghost(predicate, most),
        ),
      ),
    );
  }

  // Where the bar ended before facts were struck out.
  ghost(predicate, most) {
    const before = this.before?.get(predicate);
    if (before === undefined) return null;
    return el("span", {
      class: "ghost",
      style: { left: `${Math.min((100 * before) / most, 100)}%` },
    });
  }
}

// The classes of predicates with the sums of their probabilities.
export function showShares({ by_class: classes }) {
  byId("shares").replaceChildren(...shareList("By class", classes));
}

function shareList(title, shares) {
  if (!shares.length) return [];
  const most = Math.max(shares[0].probability, 1e-9);
  const rows = shares
    .slice(0, CLASSES)
    .map(({ name, probability }) =>
      el(
        "li",
        { class: "share-row" },
        el("span", { class: "name" }, shown(name)),
        el("span", { class: "value" }, percent(probability)),
        el(
          "span",
          { class: "track" },
          el("span", { class: "fill", style: { width: `${(100 * probability) / most}%` } }),
        ),
      ),
    );
  return [el("h3", {}, title), el("ol", { class: "bars" }, ...rows)];
}

// One bar of all groups side by side.
export function showMeter(shares, toneOf) {
  const parts = shares.filter(({ probability }) => probability >= 0.005);
  byId("meter").hidden = parts.length === 0;
  byId("meter").replaceChildren(
    el(
      "div",
      { class: "meter-bar", "aria-hidden": "true" },
      ...parts.map(({ name, probability }) =>
        el("span", { class: `tone-${toneOf(name)}`, style: { width: `${100 * probability}%` } }),
      ),
    ),
    el(
      "ul",
      { class: "legend" },
      ...parts.map(({ name, probability }) =>
        el(
          "li",
          {},
          el("span", { class: `swatch tone-${toneOf(name)}` }),
          `${shown(name)} `,
          el("b", {}, percent(probability)),
        ),
      ),
    ),
  );
}
