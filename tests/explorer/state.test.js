// The address of a view: what is read is what was written, and nothing else gets in.

import assert from "node:assert/strict";
import {
  addressOf,
  readFacts,
  readState,
  readSteps,
  readZoom,
  writeSteps,
} from "../../src/apptek/service/explorer/state.js";

Deno.test("a view is read from the address that it was written to", () => {
  const state = { subject: "A & B", object: "ü?", time: "2014-08-15", view: "ahead", days: "30" };
  assert.deepEqual(readState(addressOf(state)), state);
  assert.deepEqual(readState("?subject=x&evil=1"), { subject: "x" });
  assert.deepEqual(readState("?subject=++&object=%09&steps="), { steps: "" });
});

Deno.test("facts and ranges are numbers or nothing", () => {
  assert.deepEqual(readFacts("1,22,x,-3,4.5,,9999999999"), [1, 22]);
  assert.deepEqual(readFacts(undefined), []);
  assert.deepEqual(readZoom("3..9"), [3, 9]);
  assert.equal(readZoom("all"), "all");
  for (const text of ["9..3", "1..1", "..", "a..b", undefined]) assert.equal(readZoom(text), null);
});

Deno.test("steps are read as they were written, whatever their names are", () => {
  for (const steps of [[], ["a b", "c"], ["a|b", "100 % | x", "%7C", "%25"]]) {
    assert.deepEqual(readSteps(writeSteps(steps)), steps);
  }
});
