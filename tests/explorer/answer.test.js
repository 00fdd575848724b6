// The answer: which predicate is explained, in which words, from which reasons and facts.

import assert from "node:assert/strict";
import { served, timeless } from "./without_browser.js";
import { isFar } from "../../src/apptek/service/explorer/graph.js";
import {
  citedFacts,
  distancesOf,
  rangeText,
  stopOf,
} from "../../src/apptek/service/explorer/graph_tools.js";
import { firstShown, listedOf, toExplain } from "../../src/apptek/service/explorer/ranking.js";
import {
  aboutOf,
  bundlesOf,
  chosenOf,
  pathFirst,
} from "../../src/apptek/service/explorer/reasons.js";
import {
  comparisonOf,
  isAbout,
  isOnlyAhead,
  notesOf,
  storyOf,
  Tones,
} from "../../src/apptek/service/explorer/story.js";
import { changeText, WhatIf } from "../../src/apptek/service/explorer/what_if.js";

const ranked = (...names) => names.map((predicate) => ({ predicate, label: predicate }));
const ANSWER = { predicates: [{ predicate: "a", known: true }, ...ranked("b", "c")] };

Deno.test("the first predicate that is not hidden is explained, or the chosen one", () => {
  assert.equal(toExplain({ answer: ANSWER, state: {} }), "a");
  assert.equal(toExplain({ answer: ANSWER, state: { hide: "1" } }), "b");
  assert.equal(toExplain({ answer: ANSWER, state: { hide: "1", predicate: "a" } }), "a");
  assert.equal(toExplain({ answer: ANSWER, state: { without: "7" } }), null);
  const all = { predicates: [{ predicate: "a", known: true }] };
  assert.equal(firstShown({ answer: all, state: { hide: "1" } }, all.predicates), "a");
});

Deno.test("bars are the first ten and the selected one, without those that are hidden", () => {
  const many = Array.from({ length: 15 }, (_, place) => ({ predicate: place, known: place < 2 }));
  const barsOf = (options) => listedOf(many, options)[1].map(({ predicate }) => predicate);
  assert.deepEqual(barsOf({}), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(barsOf({ selected: 14 }).slice(-2), [9, 14]);
  assert.deepEqual(barsOf({ hide: true }), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  assert.equal(barsOf({ isWhole: true }).length, 15);
  assert.equal(listedOf(many, { hide: true })[0].length, 13);
});

Deno.test("an explanation is about a question if all three of its parts agree", () => {
  const state = { subject: "a", object: "b", time: "1", hide: "1" };
  assert.ok(isAbout({ subject: "a", object: "b", time: "1" }, state));
  assert.ok(!isAbout({ subject: "b", object: "a", time: "1" }, state));
  assert.ok(!isAbout({ subject: "a", object: "b", time: "2" }, state));
  assert.ok(!isAbout(null, state));
});

Deno.test("after the last fact, and without a time, there is only foresight", () => {
  const axis = { timeless: false, last_position: 5, position: Number };
  assert.ok(isOnlyAhead({ view: "ahead" }, { time: "6" }, axis));
  assert.ok(isOnlyAhead({ view: "ahead" }, { time: "?" }, axis));
  assert.ok(!isOnlyAhead({ view: "ahead" }, { time: "5" }, axis)); // it was chosen
  assert.ok(!isOnlyAhead({ view: "within" }, { time: "6" }, axis));
});

Deno.test("the answer is compared with the other that is most probable", () => {
  const explanation = {
    predicate: "a",
    ranked: ranked("a", "b"),
    runner_up: "b",
    runner_up_label: "B",
    runner_up_probability: 0.25,
  };
  assert.equal(comparisonOf(explanation), "rather than B (25.0 %)");
  const less = { ...explanation, ranked: ranked("b", "a") };
  assert.equal(comparisonOf(less), "less probable than B (25.0 %)");
  assert.equal(comparisonOf({ ...explanation, runner_up: "a" }), "the data has no other predicate");
});

Deno.test("a reason that alone points the other way is left out, or told as such", () => {
  const reason = (sentence, contradicts) => ({ sentence, support: { contradicts } });
  const [late, paid, left] = [reason("late", true), reason("paid", false), reason("left", false)];
  const story = (reasons, against) => storyOf({ reasons, against, runner_up_label: "x" });
  assert.equal(story([late, paid], [late]), "Paid.");
  assert.equal(story([late], []), "Late (which alone would point to 'x').");
  assert.equal(story([paid], [paid, left]), "Paid. But: left.");
});

Deno.test("a recorded fact comes first", () => {
  const labels = [{ predicate: "04", label: "plays for" }];
  const asked = { known: ["04", "05"], ranked: labels, reasons: [], against: [] };
  assert.match(storyOf(asked), /^Recorded: plays for and 05\. Nothing in particular/);
});

Deno.test("the story is the strongest reason for it and the strongest against it", () => {
  const one = { sentence: "they have met" };
  assert.equal(storyOf({ reasons: [one], against: [] }), "They have met.");
  const both = { reasons: [one, { sentence: "x" }], against: [{ sentence: "not lately" }] };
  assert.equal(storyOf(both), "They have met. But: not lately.");
  assert.match(storyOf({ reasons: [], against: [] }), /^Nothing in particular/);
});

Deno.test("a time outside the data is said in the place of other notes about it", () => {
  const axis = { timeless: false, first: "2014-01-01", last: "2014-12-31" };
  const notes = ["Answered ahead, from what was known.", "No fact is dated 2031-01-01.", "Other."];
  assert.deepEqual(notesOf({ notes }, { outside_span: false }, axis), notes.slice(1));
  const [first, ...others] = notesOf({ notes }, { outside_span: true, time: "2031-01-01" }, axis);
  assert.match(first, /^2031-01-01 is outside the time of the data \(2014-01-01 to 2014-12-31\)/);
  assert.deepEqual(others, ["Other."]);
  const undated = { outside_span: true, time: "2031-01-01" };
  assert.match(notesOf({ notes: [] }, undated, { timeless: true })[0], /^All facts are undated/);
});

Deno.test("a class keeps the colour that the ribbon gave it", () => {
  const tones = new Tones();
  assert.equal(tones.ofPredicate("visit"), "neutral");
  const layers = [{ name: "x" }, { name: "verbal conflict" }];
  tones.learn({ layers, predicates: [{ name: "visit", layer: 0 }] });
  assert.equal(tones.ofPredicate("visit"), "class-1");
  assert.equal(tones.ofClass("x"), "class-1");
  assert.equal(tones.ofClass("verbal conflict"), "verbal-conflict");
});

const REASONS = {
  reasons: [
    { number: 1, kind: "trait", facts: [] },
    {
      number: 2,
      kind: "topology",
      facts: [
        { fact: 4, distance: -3 },
        { fact: 5, distance: 9 },
      ],
    },
  ],
  against: [{ number: 3, kind: "history", facts: [{ fact: 5, distance: 9 }, { fact: 6 }] }],
};

Deno.test("the chosen reason is shown, else the first that has facts", () => {
  assert.equal(chosenOf(REASONS, "3").number, 3);
  assert.equal(chosenOf(REASONS, 1).number, 1);
  for (const odd of [undefined, "9", "x"]) assert.equal(chosenOf(REASONS, odd).number, 2);
  assert.equal(chosenOf({ reasons: REASONS.reasons.slice(0, 1), against: [] }, "9").number, 1);
  assert.equal(chosenOf({ reasons: [], against: [] }, "1"), undefined);
});

Deno.test("a reason without facts says what it is about, also one of a new kind", () => {
  assert.match(aboutOf({ kind: "trait" }), /who the two are/);
  assert.match(aboutOf({ kind: "reranker" }), /re-ranker/);
  for (const kind of ["bias", undefined]) assert.match(aboutOf({ kind }), /what is usual/);
});

Deno.test("facts on the path come first; of a history every fact counts", () => {
  const facts = [{ fact: 1, on_path: false }, { fact: 2, on_path: true }, { fact: 3 }];
  const numbers = (kind) => pathFirst({ kind, facts }).map((part) => part.map(({ fact }) => fact));
  assert.deepEqual(numbers("topology"), [[2, 3], [1]]);
  assert.deepEqual(numbers("history"), [[1, 2, 3], []]);
  assert.deepEqual(pathFirst(undefined), [[], []]);
});

Deno.test("facts are bundled by partner where one of several comes repeatedly", () => {
  const fact = (object) => ({ subject: "s", object });
  const facts = [fact("x"), fact("y"), fact("x")];
  const partners = [{ entity: "x" }, { entity: "y" }];
  const bundles = bundlesOf({ family: "rate_out", partners, facts });
  assert.deepEqual(
    bundles.map(({ entity, facts: own }) => [entity, own.length]),
    [
      ["x", 2],
      ["y", 1],
    ],
  );
  assert.deepEqual(bundlesOf({ family: "out", partners, facts: facts.slice(0, 2) }), []);
  assert.deepEqual(bundlesOf(undefined), []);
});

Deno.test("the slider has a stop for each distance in time, and a last one for all facts", () => {
  const facts = citedFacts(REASONS);
  assert.deepEqual(
    facts.map(({ fact }) => fact),
    [4, 5, 6],
  );
  const distances = distancesOf(facts);
  assert.deepEqual(distances, [3, 9]);
  const stops = { 0: 0, 3: 0, 8: 0, 9: 1, 99: 1 };
  for (const [within, stop] of Object.entries(stops)) assert.equal(stopOf(distances, within), stop);
  for (const odd of [undefined, null, "abc", "-3", ""]) assert.equal(stopOf(distances, odd), 2);
  const farAt = (limit) => facts.filter((fact) => isFar(fact, limit)).length;
  assert.deepEqual([0, 3, 9, null].map(farAt), [3, 2, 1, 0]); // an undated one is near no time
});

Deno.test("the range of the slider is said in the unit of the data", () => {
  assert.equal(rangeText(null, "2014", "year"), "At any time");
  assert.equal(rangeText(0, "2014-08-15", "day"), "At 2014-08-15");
  assert.equal(rangeText(3, "2014", "year"), "Within 3 years of 2014");
});

const whatIfOf = (state) => {
  const page = { state, answer: ANSWER };
  return new WhatIf(page, { onChange: () => assert.fail("nothing was struck out") });
};

Deno.test("at most a hundred facts are struck out", () => {
  const numbers = Array.from({ length: 101 }, (_, number) => number);
  assert.deepEqual(whatIfOf({ without: numbers.join(",") }).facts, numbers.slice(0, 100));
  assert.deepEqual(whatIfOf({}).facts, []);
});

Deno.test("without facts, the first predicate that is not hidden is explained", async () => {
  const reply = (path, { predicate, without }) => {
    const found = without?.length ? ranked("a", "c", "b") : ranked("a", "b", "c");
    return { predicate: predicate ?? "a", ranked: found };
  };
  const explained = async (state) => {
    const found = { all: [], asked: [] };
    const requests = await served(reply, async () => {
      found.all = await whatIfOf(state).explain({ predicate: null }, undefined);
    });
    return [found.all, requests.map(({ body }) => [body.predicate, body.without])];
  };
  const [[struck, whole], asked] = await explained({ without: "7", hide: "1" });
  assert.equal(struck.predicate, "c"); // "a" is known, and hidden
  assert.equal(whole.predicate, "a");
  assert.deepEqual(asked, [
    [null, [7]],
    [null, undefined],
    ["c", [7]],
  ]);
  const [[shown, same], requests] = await explained({});
  assert.equal(shown, same);
  assert.equal(requests.length, 1);
});

Deno.test("what changes without facts is said with both probabilities", () => {
  const [a, b] = ranked("a", "b").map((one, place) => ({ ...one, probability: 0.5 + place / 4 }));
  assert.equal(changeText(a, { ...a, probability: 0.4 }), "It stays a (50.0 %), now with 40.0 %.");
  assert.equal(changeText(a, b), "The answer would be b (75.0 %) instead of a (50.0 %).");
});

Deno.test("nothing is said about time where no fact has one", () => {
  const explanation = { notes: ["No fact is dated ?."], reasons: [], against: [] };
  const axis = { timeless: true, position: () => null, last_position: 0 };
  timeless(() => {
    assert.ok(!isOnlyAhead({ view: "within" }, { time: "?" }, axis));
    assert.ok(!/\b(time|date|day)/.test(storyOf(explanation)));
  });
});
