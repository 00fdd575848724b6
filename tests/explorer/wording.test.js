// Numbers and names as the page writes them: as present/wording.py does, by the same table of cases.

import assert from "node:assert/strict";
import { timeless } from "./without_browser.js";
import * as wording from "../../src/apptek/server/explorer/wording.js";
import cases from "./wording_cases.json" with { type: "json" };

const { labelled, shown, timely } = wording;
const takesSeveral = new Set(["counted", "shortened"]);

for (const [name, rows] of Object.entries(cases)) {
  Deno.test(`${name} is as in Python`, () => {
    for (const [given, words] of rows) {
      const told = takesSeveral.has(name) ? wording[name](...given) : wording[name](given);
      assert.equal(told, words);
    }
  });
}

Deno.test("a name is shown without characters that are not seen or turn the writing", () => {
  assert.equal(shown("a\u0000b\u202ec\u2066d\ud800"), "a\ufffdb\ufffdc\ufffdd\ufffd");
  const kept = ["<img src=x onerror=alert(1)>", "שלום עולם", "żółw 🐢", "a\u00a0b"];
  assert.deepEqual(kept.map(shown), kept);
});

Deno.test("a predicate has its label before it, where it has one of its own", () => {
  assert.equal(labelled("040", "Consult"), "Consult (040)");
  assert.equal(labelled("Consult", "Consult"), "Consult");
  assert.equal(labelled("040", ""), "040");
});

Deno.test("words about time are for data that has times", () => {
  assert.equal(timely(" at that time"), " at that time");
  assert.equal(
    timeless(() => timely(" at that time")),
    "",
  );
  assert.equal(
    timeless(() => timely(2, 1)),
    1,
  );
});
