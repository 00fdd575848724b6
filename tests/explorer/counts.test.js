// All facts between two: their counts over time, and the list.

import assert from "node:assert/strict";
import { served } from "./without_browser.js";
import { countsOf } from "../../src/apptek/server/explorer/counts_chart.js";
import { historyText, latestTime } from "../../src/apptek/server/explorer/timeline.js";

Deno.test("facts are counted by layer and part of the time, and none is lost", () => {
  const ribbon = {
    layers: [{ name: "talk" }, { name: "deed" }],
    predicates: [{ layer: 1 }, { layer: 0 }],
    positions: [100, 200, 339],
  };
  const mark = (start, predicate) => ({ start, predicate });
  const marks = [mark(100, 0), mark(101, 0), mark(102, 1), mark(339, 1), mark(50, 0)];
  const [talk, deed] = countsOf(marks, ribbon);
  assert.equal(talk.length, 120); // two days each
  assert.deepEqual([talk[0], talk[1], talk[119]], [0, 1, 1]);
  assert.equal(deed[0], 3); // one began before
  const days = countsOf(marks, { ...ribbon, positions: [100, 101, 102] });
  assert.deepEqual(days, [
    [0, 0, 2],
    [2, 1, 0],
  ]);
});

Deno.test("the latest time of a pair is none if one of the two is unknown", async () => {
  const latest = { latest: "2014-08-15" };
  const unknown = () => Response.json({ status: 404, detail: "No such name." }, { status: 404 });
  for (const [reply, expected] of [
    [() => latest, "2014-08-15"],
    [unknown, null],
  ]) {
    await served(reply, async () => {
      assert.equal(await latestTime({ subject: "a", object: "b" }, undefined), expected);
    });
  }
});

Deno.test("facts that are held out or undated are said to be so", () => {
  assert.equal(historyText(1, 0), "1 fact between them, as a list");
  assert.match(historyText(7, 2), /^7 facts between them \(2 held out: no answer uses them/);
});
