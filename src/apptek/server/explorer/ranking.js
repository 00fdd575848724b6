// The ranked predicates as bars; one of them is selected.

import { byId, choice, el, replaceChoices, span, swatch, toned, track } from "./dom.js";
import { labelled, percent, shown } from "./wording.js";

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

// The predicates, followed by the selected one if it is explained but not among them.
export function withSelected(predicates, selected, explanation) {
  const isThere = predicates.some(({ predicate }) => predicate === selected);
  if (isThere || explanation?.predicate !== selected) return predicates;
  const { predicate, label, probability, known } = explanation;
  return [...predicates, { predicate, label, probability, known: known.includes(predicate) }];
}

// How often the first predicates contain the true one; empty if unknown.
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

  // The predicates of an answer, or of the explanation after facts were removed.
  show({ answer, explanation, state }, tones) {
    const words = explanation ? setWords(explanation) : "";
    byId("set").textContent = words;
    byId("set").hidden = !words;
    const isStruck = state.without && explanation?.without.length;
    const ranked = isStruck ? rankingOf(explanation) : answer.predicates;
    const selected = state.predicate ?? ranked[0].predicate;
    const predicates = withSelected(ranked, selected, explanation);
    const most = Math.max(...predicates.map(({ probability }) => probability), 1e-9);
    const rows = predicates.map((each) => this.row(each, { most, selected, tones }));
    replaceChoices(byId("bars"), rows);
  }

  row({ predicate, label, probability, known }, { most, selected, tones }) {
    const title = "A recorded fact has this predicate";
    const tag = known ? el("span", { class: "tag", title }, "known") : null;
    return choice(
      {
        class: "bar",
        style: toned(tones.ofPredicate(predicate)),
        "aria-pressed": String(predicate === selected),
        onclick: () => this.onSelect(predicate),
      },
      span("name", labelled(predicate, label), tag),
      span("value", percent(probability)),
      track(probability / most, "tone"),
    );
  }
}

// One bar with all groups side by side.
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
