// The answer as text: the question, the most probable predicate, its basis, and a reason.

import { all, byId, el, span } from "./dom.js";
import { noteTexts } from "./notices.js";
import { toneOf, tonesOf } from "./ribbon_shape.js";
import { addressOf } from "./state.js";
import { counted, percent, shown, timely } from "./wording.js";

// The colours of classes and predicates, as received from the ribbon.
export class Tones {
  constructor() {
    this.classes = new Map();
    this.predicates = new Map();
  }

  learn({ layers, predicates }) {
    const tones = tonesOf(layers);
    this.classes = new Map(layers.map(({ name }, place) => [name, tones[place]]));
    for (const { name, layer } of predicates) this.predicates.set(name, tones[layer]);
  }

  ofClass(name) {
    return this.classes.get(name) ?? toneOf(name);
  }

  ofPredicate(name) {
    return this.predicates.get(name) ?? "neutral";
  }
}

export const isAbout = (explanation, state) =>
  ["subject", "object", "time"].every((field) => explanation?.[field] === state[field]);

const actorLink = (name) =>
  el(
    "a",
    { href: addressOf({ page: "actor", subject: name }), title: "All about it" },
    shown(name),
  );

// The question and its answer. without: the facts that are removed
export function showHeadline({ subject, object, time }, { label, probability, without = [] }) {
  const when = timely(`, ${time === "?" ? "undated" : time}`);
  byId("asked").replaceChildren(
    actorLink(subject),
    " → ",
    actorLink(object),
    when,
    ...(without.length ? [" ", span("flag", `without ${counted(without.length, "fact")}`)] : []),
  );
  byId("answer").replaceChildren(
    el("small", {}, "If something happens: "),
    el("span", {}, shown(label)),
    " ", // keeps screen readers from joining the words
    span("share", percent(probability)),
  );
}

// late: the day has moved on, and the headline already shows a later day
export function showAnswer(explanation, late) {
  if (!late) showHeadline(explanation, explanation);
  byId("story").textContent = shown(explanation.sentence);
}

// Whether only past facts can be used: after the last fact, or at an unknown time.
export function isOnlyAhead(view, { time }, axis) {
  const beyond = !axis.timeless && axis.position(time) > axis.last_position;
  return view === "past_only" && (beyond || time === "?");
}

// Which of the two views gave the answer. At or after the last fact, the chance that something
// happens comes before what happens.
export function showViews(view, state, axis) {
  const isAhead = !axis.timeless && axis.position(state.time) >= axis.last_position;
  byId("answer-card").classList.toggle("ahead", isAhead);
  if (isAhead) byId("answer").before(byId("occurrence"));
  else byId("answer").after(byId("occurrence"));
  for (const button of all("[data-view]")) {
    const pastOnly = button.dataset.view === "past_only";
    button.setAttribute("aria-pressed", String(pastOnly === (view === "past_only")));
    button.disabled = !pastOnly && isOnlyAhead(view, state, axis);
  }
  byId("answer-card").dataset.view = view;
}

export function clearAnswer() {
  for (const id of ["asked", "answer", "story"]) byId(id).replaceChildren();
  byId("meter").replaceChildren();
  byId("what-if").hidden = true;
}

// The notes in an explanation. A time outside the data replaces other notes about the time.
export function notesOf({ notes, time: when }, axis) {
  const isOutside = axis.timeless ? when !== "?" : axis.isOutside(when);
  if (!isOutside) return noteTexts(notes, "answer");
  const words = axis.timeless
    ? `No fact has a date, so none is near ${when}.`
    : `${when} is outside the time span of the data (${axis.first} to ${axis.last}). ` +
      "The answer comes from the nearest facts.";
  return [words, ...noteTexts(notes, "outside")];
}
