// The answer: which predicate is explained, in which words, from which reasons and facts.

import assert from "node:assert/strict";
import { served, timeless } from "./without_browser.js";
import { noteTexts } from "../../src/apptek/server/explorer/notices.js";
import { rankingOf, withSelected } from "../../src/apptek/server/explorer/ranking.js";
import { aboutOf, chosenOf, pathFirst, rowsOf } from "../../src/apptek/server/explorer/reasons.js";
import { isAbout, isOnlyAhead, notesOf, Tones } from "../../src/apptek/server/explorer/story.js";
import { changeText, WhatIf } from "../../src/apptek/server/explorer/what_if.js";

const ranked = (...names) => names.map((predicate) => ({ predicate, label: predicate }));
const ANSWER = { predicates: [{ predicate: "a", known: true }, ...ranked("b", "c")] };

Deno.test("an explanation says which predicates are known, and has a bar for the selected one", () => {
  const explanation = { predicate: "z", label: "Z", probability: 0.1, known: ["z"] };
  const bars = rankingOf({ ranked: ranked("a", "b"), known: ["b"] });
  assert.deepEqual(
    bars.map(({ known }) => known),
    [false, true],
  );
  assert.equal(withSelected(bars, "a", explanation), bars);
  assert.equal(withSelected(bars, "y", explanation), bars); // it is on its way
  assert.deepEqual(withSelected(bars, "z", explanation).at(-1), {
    predicate: "z",
    label: "Z",
    probability: 0.1,
    known: true,
  });
});

Deno.test("an explanation is about a question if all three of its parts agree", () => {
  const state = { subject: "a", object: "b", time: "1" };
  assert.ok(isAbout({ subject: "a", object: "b", time: "1" }, state));
  assert.ok(!isAbout({ subject: "b", object: "a", time: "1" }, state));
  assert.ok(!isAbout({ subject: "a", object: "b", time: "2" }, state));
  assert.ok(!isAbout(null, state));
});

Deno.test("after the last fact, and without a time, only the past is used", () => {
  const axis = { timeless: false, last_position: 5, position: Number };
  assert.ok(isOnlyAhead("past_only", { time: "6" }, axis));
  assert.ok(isOnlyAhead("past_only", { time: "?" }, axis));
  assert.ok(!isOnlyAhead("past_only", { time: "5" }, axis)); // it was chosen
  assert.ok(!isOnlyAhead("all_facts", { time: "6" }, axis));
});

Deno.test("notes are left out by their kind, never by their words", () => {
  const notes = [
    { kind: "view", text: "Based on facts before 2014-08-15." },
    { kind: "model", text: "Fitted on half of the facts." },
    "Answered ahead, as a plain text.",
  ];
  assert.deepEqual(noteTexts(notes, "forecast"), [notes[1].text, notes[2]]);
  const conditional = { kind: "conditional", text: "If something happens." };
  assert.deepEqual(noteTexts([conditional], "answer"), []);
  assert.deepEqual(noteTexts([conditional], "forecast"), [conditional.text]);
});

Deno.test("a time outside the data is said in the place of other notes about it", () => {
  const axis = {
    timeless: false,
    first: "2014-01-01",
    last: "2014-12-31",
    isOutside: (time) => time > "2014-12-31",
  };
  const notes = [
    { kind: "view", text: "Based on facts before." },
    { kind: "far", text: "No fact is near." },
    { kind: "unknown_name", text: "Other." },
  ];
  const texts = notes.map(({ text }) => text);
  assert.deepEqual(notesOf({ notes, time: "2014-05-01" }, axis), texts.slice(1));
  const [first, ...others] = notesOf({ notes, time: "2031-01-01" }, axis);
  assert.match(
    first,
    /^2031-01-01 is outside the time span of the data \(2014-01-01 to 2014-12-31\)/,
  );
  assert.deepEqual(others, ["Other."]);
  const undated = { notes: [], time: "2031-01-01" };
  assert.match(notesOf(undated, { timeless: true })[0], /^No fact has a date/);
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
  assert.match(aboutOf({ kind: "trait" }), /what types of actors they are/);
  assert.match(aboutOf({ kind: "reranker" }), /re-ranker/);
  for (const kind of ["bias", undefined]) assert.match(aboutOf({ kind }), /what usually happens/);
});

Deno.test("facts on the path come first; of a history every fact counts", () => {
  const facts = [{ fact: 1, on_path: false }, { fact: 2, on_path: true }, { fact: 3 }];
  const numbers = (kind) => pathFirst({ kind, facts }).map((part) => part.map(({ fact }) => fact));
  assert.deepEqual(numbers("topology"), [[2, 3], [1]]);
  assert.deepEqual(numbers("history"), [[1, 2, 3], []]);
  assert.deepEqual(pathFirst(undefined), [[], []]);
});

const whatIfOf = (state, answer = ANSWER) => {
  const page = { state, answer };
  return new WhatIf(page, { onChange: () => assert.fail("nothing was struck out") });
};

Deno.test("without facts, the whole answer is asked for, too, unless the page has it", async () => {
  const sent = {
    predicates: ["a", "b"],
    labels: ["A", "B"],
    probabilities: [0.6, 0.4],
    known: ["b"],
  };
  const reply = (path, { predicate, without }) => {
    if (path === "/api/predict") return { answers: [sent] };
    const found = without.length ? ranked("a", "c", "b") : ranked("a", "b", "c");
    return { predicate: predicate ?? "a", ranked: found, known: ["a"] };
  };
  const explained = async (state, answer) => {
    const found = { all: [], asked: [] };
    const requests = await served(reply, async () => {
      found.all = await whatIfOf(state, answer).explain({}, "this question", undefined);
    });
    return [found.all, requests.map(({ path, body }) => [path, body.predicate, body.without])];
  };
  const [[struck, whole], asked] = await explained({ without: "7" });
  assert.equal(struck.predicate, "a");
  assert.deepEqual(whole, {
    key: "this question",
    predicates: [
      { predicate: "a", label: "A", probability: 0.6, known: false },
      { predicate: "b", label: "B", probability: 0.4, known: true },
    ],
  });
  assert.deepEqual(asked, [
    ["/api/explain", undefined, [7]],
    ["/api/predict", undefined, undefined],
  ]);
  const answer = { ...ANSWER, key: "this question" }; // what the page has is not asked for again
  const [[, kept], again] = await explained({ without: "7" }, answer);
  assert.equal(kept, answer);
  assert.equal(again.length, 1);
  const [[, fresh], requests] = await explained({}, { ...ANSWER, key: "another" });
  assert.deepEqual(fresh.predicates[0], { predicate: "a", label: "a", known: true });
  assert.equal(requests.length, 1);
});

Deno.test("what changes without facts is said with both probabilities", () => {
  const [a, b] = ranked("a", "b").map((one, place) => ({ ...one, probability: 0.5 + place / 4 }));
  const still = "The answer is still a (from 50.0 % to 40.0 %).";
  assert.equal(changeText(a, { ...a, probability: 0.4 }), still);
  assert.equal(changeText(a, b), "The answer would be b (75.0 %) instead of a (50.0 %).");
});

Deno.test("of data without times, all facts are used", () => {
  const axis = { timeless: true, position: () => null, last_position: 0 };
  timeless(() => {
    assert.ok(!isOnlyAhead("all_facts", { time: "?" }, axis));
  });
});

Deno.test("evidence is ordered by size, counting included, without rows of 0.00", () => {
  const counting = { kind: "counting", log_odds: 2.01, sentence: "counts" };
  const usual = { kind: "trait", log_odds: 0.002, sentence: "usual" };
  const group = (name, log_odds, ...members) => ({ name, title: name, log_odds, members });
  const names = (rows) => rows.map(({ name, number }) => name ?? number);
  const further = [counting, usual, { ...usual, log_odds: 0.1 }];
  const groups = [group("counting", 2.01, 0), group("usual", 0.002, 1), group("types", 0.1, 2)];
  const alone = rowsOf({ reasons: [], against: [], groups: groups.slice(0, 2), further });
  assert.deepEqual(names(alone.forIt), ["counting"]);
  assert.deepEqual(alone.smaller, []);
  const reasons = [
    { number: 1, log_odds: 3 },
    { number: 2, log_odds: 0.4 },
    { number: 3, log_odds: 0.004 },
  ];
  const both = rowsOf({ reasons, against: [], groups, further });
  assert.deepEqual(names(both.forIt), [1, "counting", 2]);
  assert.deepEqual(names(both.smaller), ["types"]);
  const known = rowsOf({ reasons, against: [], groups: [group("recorded", -2, 0)], further });
  assert.deepEqual(known.against, []); // the fact itself is not evidence against it
  assert.deepEqual(names(known.smaller), ["recorded"]);
});
