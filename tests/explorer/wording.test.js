// Numbers and names as the page writes them: as explain/wording.py does.

import assert from "node:assert/strict";
import { timeless } from "./without_browser.js";
import {
  counted,
  labelled,
  percent,
  shortened,
  shown,
  signed,
  timely,
} from "../../src/apptek/service/explorer/wording.js";

Deno.test("probabilities have one decimal, and what is smaller is said to be so", () => {
  const shares = [1, 0.4126, 0.001, 0.0005, 0.0004, 0];
  const texts = ["100.0 %", "41.3 %", "0.1 %", "0.1 %", "< 0.1 %", "0.0 %"];
  assert.deepEqual(shares.map(percent), texts);
});

Deno.test("what is added has its sign, a true minus, and next to nothing has none", () => {
  const texts = ["+1.32", "−0.40", "+0.00", "+0.00", "−0.01"];
  assert.deepEqual([1.321, -0.4, 0, -0.001, -0.006].map(signed), texts);
});

Deno.test("counts have the plural of their noun, and large ones commas", () => {
  assert.equal(counted(1, "fact"), "1 fact");
  assert.equal(counted(0, "fact"), "0 facts");
  assert.equal(counted(12_345, "entity"), "12,345 entities");
  assert.equal(counted(2, "topology"), "2 topologies");
  assert.equal(counted(2, "day"), "2 days");
});

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

Deno.test("a long text is cut between letters, also where one is two units", () => {
  assert.equal(shortened("abc", 3), "abc");
  assert.equal(shortened("ab cd", 4), "ab…");
  assert.equal(shortened("🐢🐢🐢", 2), "🐢…");
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
