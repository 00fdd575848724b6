// The timelines: what is fetched for them, their bars, their range, and the labels of their axis.

import assert from "node:assert/strict";
import { served } from "./without_browser.js";
import {
  barsOf,
  busyRange,
  extentOf,
  fetchLanes,
  latestTime,
  withRoom,
  zoomedLanes,
} from "../../src/apptek/service/explorer/lanes.js";
import { countText, historyText } from "../../src/apptek/service/explorer/timeline.js";

const { d3 } = globalThis;
const fact = (start, end = start) => ({ start, end });
const whole = (...facts) => ({ total: facts.length, facts });
const counts = { total: 900, facts: [], counts: [0, 4, 0, 5, 0], first: 100, last: 149 };
const scale = (first, last) => d3.scaleLinear().domain([first, last]).range([0, 100]);

Deno.test("bars count the facts of a moment; those that last are no bars", () => {
  const bars = barsOf(whole(fact(3), fact(3), fact(8), fact(1, 9)), scale(0, 10));
  assert.deepEqual(
    bars.map(({ count, first, last, from, to }) => [count, first, last, from, to]),
    [
      [2, 3, 3, 30, 40],
      [1, 8, 8, 80, 90],
    ],
  );
});

Deno.test("of more facts than were fetched, bars are their counts", () => {
  const bars = barsOf(counts, scale(100, 150));
  assert.deepEqual(
    bars.map(({ count, first, last }) => [count, first, last]),
    [
      [4, 110, 119],
      [5, 130, 139],
    ],
  );
  assert.equal(barsOf(counts, scale(100, 120)).length, 1); // what is outside is not drawn
});

Deno.test("a lane reaches from its first fact to its last", () => {
  assert.deepEqual(d3.extent(extentOf(whole(fact(3), fact(5, 8)))), [3, 8]);
  assert.deepEqual(extentOf(counts), [110, 139]);
  assert.deepEqual(extentOf(whole()), []);
});

Deno.test("the range that is shown first has all facts and the query in it", () => {
  const lanes = [{ data: whole(fact(40), fact(60)) }, { data: undefined }];
  const [first, last] = busyRange(lanes, 75, [0, 100]);
  assert.ok(first < 40 && first > 30 && last > 76 && last < 85);
  assert.deepEqual(busyRange(lanes, 500, [0, 100])[1], 100); // not beyond the data
  assert.deepEqual(busyRange([{ data: whole() }], null, [0, 100]), [0, 100]);
  const [low, high] = busyRange([{ data: whole(fact(0)) }], null, [0, 100]);
  assert.ok(low === 0 && high >= 3); // never nothing
});

Deno.test("zooming goes towards the query that is seen and stays inside the data", () => {
  assert.deepEqual(zoomedLanes([0, 80], [0, 80], 19.5, 2), [0, 40]);
  assert.deepEqual(zoomedLanes([0, 80], [0, 80], 59.5, 2), [40, 80]);
  assert.deepEqual(zoomedLanes([0, 80], [0, 80], 500, 2), [20, 60]); // it is not seen
  assert.deepEqual(zoomedLanes([20, 60], [0, 80], null, 0.5), [0, 80]);
  assert.deepEqual(zoomedLanes([20, 60], [0, 80], null, 1, 0.25), [30, 70]);
  assert.deepEqual(zoomedLanes([50, 80], [0, 80], null, 1, 0.25), [50, 80]);
  assert.deepEqual(zoomedLanes([38, 43], [0, 80], null, 9), [38.5, 42.5]); // no less than four
});

Deno.test("labels of the axis cover neither each other nor the label of the query", () => {
  const x = d3.scaleLinear().domain([0, 1000]).range([0, 1000]);
  for (const letters of [4, 10, 16]) {
    for (const query of [null, 0, 333, 1000]) {
      const kept = withRoom(d3.range(0, 1001, 10), x, query, letters);
      assert.ok(kept.length > 1);
      for (const [place, at] of kept.entries()) {
        assert.ok(at > 0 && at < 1000);
        if (place) assert.ok(at - kept[place - 1] > 7.2 * letters);
        if (query !== null) assert.ok(Math.abs(at - query) > 7.2 * letters);
      }
    }
  }
});

Deno.test("a lane of a name that is not in the data is not fetched", async () => {
  const reply = (path) => (path === "/api/pair" ? { forward: {}, backward: {} } : { path });
  const lanesOf = async (subject, object, unknown) => {
    const found = { lanes: [], paths: [] };
    const requests = await served(reply, async () => {
      found.lanes = await fetchLanes({ subject, object, unknown }, {}, undefined);
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

Deno.test("the latest time of a pair is asked for only if both are known", async () => {
  const reply = (similar) => (path) =>
    path === "/api/pair" ? { latest: "2014-08-15" } : { similar };
  const query = { subject: "a", object: "b" };
  await served(reply({}), async () => {
    assert.equal(await latestTime(query, undefined), "2014-08-15");
  });
  const requests = await served(reply({ a: [] }), async () => {
    assert.equal(await latestTime(query, undefined), null);
  });
  assert.equal(requests.length, 1);
});

Deno.test("facts that are held out or undated are said to be so", () => {
  assert.equal(historyText(1, 0), "1 fact between the two, as a list");
  assert.match(historyText(7, 2), /^7 facts between the two \(2 held out: no answer uses them/);
  assert.equal(countText({ total: 3, undated: 2 }), "3 facts, 2 undated");
});
