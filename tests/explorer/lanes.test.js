// The timelines: what is fetched for them, and their bars.

import assert from "node:assert/strict";
import { served } from "./without_browser.js";
import {
  barsOf,
  countText,
  fetchLanes,
  historyText,
  latestTime,
} from "../../src/apptek/server/explorer/timeline.js";

Deno.test("bars are the counts of the parts of the time in which something happened", () => {
  const bars = barsOf({ counts: [0, 4, 0, 5, 0], first: 100, last: 149 });
  assert.deepEqual(bars, [
    { count: 4, first: 110, last: 119 },
    { count: 5, first: 130, last: 139 },
  ]);
});

Deno.test("a lane of a name that is not in the data is not fetched", async () => {
  const reply = (path) => (path === "/api/pair" ? { forward: {}, backward: {} } : { path });
  const lanesOf = async (subject, object, unknown) => {
    const found = { lanes: [], paths: [] };
    const requests = await served(reply, async () => {
      const { lanes } = await fetchLanes({ subject, object, unknown, span: {} }, undefined);
      found.lanes = lanes;
    });
    found.paths = requests.map(({ path }) => path);
    return found;
  };
  const both = await lanesOf("a/b", "c", []);
  assert.deepEqual(both.paths, [
    "/api/pair",
    "/api/entity/a%2Fb/timeline",
    "/api/entity/c/timeline",
  ]);
  assert.deepEqual(
    both.lanes.map(({ title }) => title),
    ["a/b → c", "c → a/b", "a/b", "c"],
  );
  const one = await lanesOf("nobody", "c", ["nobody"]);
  assert.deepEqual(one.paths, ["/api/entity/c/timeline"]);
  assert.deepEqual(
    one.lanes.map(({ data }) => countText(data && { total: 1 })),
    ["not in the data", "not in the data", "not in the data", "1 fact"],
  );
  const itself = await lanesOf("a", "a", []);
  assert.equal(itself.lanes.length, 2);
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
  assert.equal(countText({ total: 3, undated: 2 }), "3 facts, 2 undated");
});
