// The ranked predicates as bars; one is selected.

import { byId, el, replaceChoices, span, swatch, toned, track } from "./dom.js";
import { labelled, percent, shown } from "./wording.js";

const CLASSES = 6; // classes that are shown

// The predicates of an explanation or an answer, and which of them are known.
export const rankingOf = ({ ranked, known, predicates, labels, probabilities }) =>
  (
    ranked ??
    predicates.map((predicate, place) => ({
      predicate,
      label: labels[place],
      probability: probabilities[place],
    }))
  ).map((each) => ({ ...each, known: known.includes(each.predicate) }));

// The predicates, and after them the selected one if it is explained and not among them.
export function withSelected(predicates, selected, explanation) {
  const isThere = predicates.some(({ predicate }) => predicate === selected);
  if (isThere || explanation?.predicate !== selected) return predicates;
  const { predicate, label, probability, known } = explanation;
  return [...predicates, { predicate, label, probability, known: known.includes(predicate) }];
}

// How often the first predicates contain the true one; empty where that is not known.
export function setWords({ set_size: size, ranked }) {
  if (!size) return "";
  const names = ranked.slice(0, size).map(({ label }) => label);
  if (size === 1) return `It is ${names[0]}, nine times out of ten.`;
  const which = names.length === size ? `: ${names.join(", ")}` : "";
  return `It is one of the first ${size}, nine times out of ten${which}.`;
}

export class Ranking {
  constructor({ onSelect }) {
    this.onSelect = onSelect;
  }

  // The predicates of an answer; after facts were struck out, with what they were before.
  showAnswer({ answer, explanation, state, most }, tones) {
    const whole = answer.predicates;
    const words = explanation ? setWords(explanation) : "";
    byId("set").textContent = words;
    byId("set").hidden = !words;
    const isKnown = new Map(whole.map(({ predicate, known }) => [predicate, known]));
    const now = state.without && explanation?.without.length ? explanation.ranked : null;
    const struck = now?.map((each) => ({ ...each, known: isKnown.get(each.predicate) }));
    const selected = state.predicate ?? (now ? explanation : whole[0]).predicate;
    this.show(withSelected(struck ?? whole, selected, explanation), {
      selected,
      tones,
      before: now && new Map(whole.map((each) => [each.predicate, each.probability])),
      hasMore: !now && whole.length < most,
    });
  }

  // before: probabilities to compare with, or null; hasMore: there are further ones to fetch
  show(predicates, { selected, tones, before, hasMore }) {
    this.tones = tones;
    this.before = before;
    const most = Math.max(...predicates.map(({ probability }) => probability), 1e-9);
    replaceChoices(
      byId("bars"),
      predicates.map((ranked) => this.row(ranked, most, selected)),
    );
    byId("more").hidden = !hasMore;
  }

  row({ predicate, label, probability, known }, most, selected) {
    const title = "A recorded fact has this predicate";
    const tag = known ? el("span", { class: "tag", title }, "known") : null;
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: "bar",
          style: toned(this.tones.ofPredicate(predicate)),
          "aria-pressed": String(predicate === selected),
          onclick: () => this.onSelect(predicate),
        },
        span("name", labelled(predicate, label), tag),
        span("value", percent(probability)),
        track(probability / most, "tone", this.ghost(predicate, most)),
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
export function showShares({ by_class: classes, by_group: groups }, tones) {
  showMeter(groups.length ? groups : classes, tones);
  const most = Math.max(classes[0]?.probability ?? 0, 1e-9);
  const rows = classes
    .slice(0, CLASSES)
    .map(({ name, probability }) =>
      el(
        "li",
        { class: "share-row" },
        span("name", shown(name)),
        span("value", percent(probability)),
        track(probability / most),
      ),
    );
  const parts = rows.length ? [el("h3", {}, "By class"), el("ol", {}, ...rows)] : [];
  byId("shares").replaceChildren(...parts);
}

// One bar of all groups side by side.
export function showMeter(shares, tones) {
  const parts = shares.filter(({ probability }) => probability >= 0.005);
  const bar = parts.map(({ name, probability }) =>
    el("span", { style: { ...toned(tones.ofClass(name)), width: `${100 * probability}%` } }),
  );
  const legend = parts.map(({ name, probability }) =>
    el("li", {}, swatch(tones.ofClass(name)), `${shown(name)} `, el("b", {}, percent(probability))),
  );
  byId("meter").hidden = parts.length === 0;
  byId("meter").replaceChildren(
    el("div", { class: "meter-bar", "aria-hidden": "true" }, ...bar),
    el("ul", { class: "legend" }, ...legend),
  );
}
