// The address of a view: what is read is what was written, and nothing else gets in.

import assert from "node:assert/strict";
import { clipped } from "../../src/apptek/server/explorer/ribbon_shape.js";
import {
  addressOf,
  questionChanges,
  readFacts,
  readState,
  readSteps,
  readSupposed,
  readZoom,
  writeSteps,
  writeSupposed,
} from "../../src/apptek/server/explorer/state.js";

Deno.test("a view is read from the address that it was written to", () => {
  const state = {
    subject: "A & B",
    object: "ü?",
    time: "2014-08-15",
    view: "past_only",
    days: "30",
  };
  const general = { ...state, general: "1" };
  assert.deepEqual(readState(addressOf(general)), general);
  assert.deepEqual(readState(addressOf(state)), state);
  assert.deepEqual(readState("?subject=x&evil=1"), { subject: "x" });
  assert.deepEqual(readState("?subject=++&object=%09&steps="), { steps: "" });
});

Deno.test("supposed facts are four texts each, or nothing", () => {
  const fact = { subject: "A | B", predicate: "x", object: "c", time: "2015-01-02" };
  assert.deepEqual(readSupposed(writeSupposed([fact])), [fact]);
  assert.equal(writeSupposed([]), null);
  for (const text of ["x", "{}", "[1]", '[["a","b","c"]]', '[["a","b","c",4]]', undefined]) {
    assert.deepEqual(readSupposed(text), [], text);
  }
});

Deno.test("facts and ranges are numbers or nothing", () => {
  assert.deepEqual(readFacts("1,22,x,-3,4.5,,9999999999"), [1, 22]);
  assert.deepEqual(readFacts(undefined), []);
  assert.deepEqual(readZoom("3..9"), [3, 9]);
  for (const text of ["9..3", "1..1", "..", "a..b", undefined]) assert.equal(readZoom(text), null);
});

Deno.test("steps are read as they were written, whatever their names are", () => {
  for (const steps of [[], ["a b", "c"], ["a|b", "100 % | x", "%7C", "%25"]]) {
    assert.deepEqual(readSteps(writeSteps(steps)), steps);
  }
});

Deno.test("any range in the address is inside the data, or nothing", () => {
  const whole = [10, 20];
  const shown = (text) => {
    const range = readZoom(text);
    return Array.isArray(range) ? clipped(range, whole) : range;
  };
  assert.deepEqual(shown("-99999999999..99999999999"), whole);
  assert.deepEqual(shown("12.5..14"), [12.5, 14]);
  const none = ["5", "9..2", "..", "1e9..2e9", "1..2..3", "1..2", "x", `1..${"9".repeat(400)}`];
  for (const text of none) assert.equal(shown(text), null, text);
});

Deno.test("a new question leaves behind what belonged to the earlier one", () => {
  const state = {
    subject: "a",
    object: "b",
    time: "1",
    view: "past_only",
    predicate: "p",
    reason: "2",
    without: "7",
    steps: "x",
    page: "audit",
    span: "1..9",
    days: "30",
  };
  const another = { ...state, ...questionChanges(state, { subject: "b", object: "a", time: "1" }) };
  const kept = { subject: "b", object: "a", time: "1", view: "past_only", days: "30" };
  assert.deepEqual(readState(addressOf(another)), kept);
  const later = { ...state, ...questionChanges(state, { subject: "a", object: "b", time: "2" }) };
  const ranges = { ...kept, subject: "a", object: "b", time: "2", span: "1..9" };
  assert.deepEqual(readState(addressOf(later)), ranges);
  const struck = questionChanges(state, { ...state, page: null, view: null, without: "7" });
  assert.equal(struck.without, "7"); // what is asked for stays
});
