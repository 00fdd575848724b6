// The logic of the ribbon, run by deno: see tests/test_explorer_logic.py.

import assert from "node:assert/strict";
import {
  clipped,
  dotsOf,
  keyTarget,
  layerOrder,
  nearestPlace,
  rankedAt,
  sharesAt,
  stacked,
  tonesOf,
  zoomed,
} from "../../src/apptek/server/explorer/ribbon_shape.js";

const layers = (...names) => names.map((name) => ({ name, predicates: [] }));
const GROUPS = layers(
  "material conflict",
  "material cooperation",
  "verbal conflict",
  "verbal cooperation",
);

Deno.test("cooperation lies at the axis, conflict outside, what is other outermost", () => {
  assert.deepEqual(layerOrder(GROUPS), [3, 1, 2, 0]);
  assert.deepEqual(layerOrder(layers("other", "b", "a")), [1, 2, 0]);
});

Deno.test("each class has a tone of its own, as long as there are tones", () => {
  assert.deepEqual(tonesOf(GROUPS), [
    "material-conflict",
    "material-cooperation",
    "verbal-conflict",
    "verbal-cooperation",
  ]);
  const many = tonesOf(layers("a", "b", "c", "d", "e", "f", "g", "other"));
  assert.equal(new Set(many.slice(0, 6)).size, 6);
  assert.deepEqual(many.slice(6), ["neutral", "neutral"]);
});

Deno.test("layers are stacked without gaps from 0 to 1, whatever their sum is", () => {
  const bounds = stacked(
    [
      [0.2, 0.3, 0.5],
      [0.1, 0.1, 0.0],
      [0, 0, 0],
    ],
    [2, 0, 1],
  );
  assert.deepEqual(bounds[0][0], [0, 0.5]);
  assert.deepEqual(bounds[1][0], [0.5, 0.7]);
  assert.deepEqual(bounds[2][0], [0.7, 1]);
  assert.deepEqual(bounds[0][1], [0, 0]);
  assert.deepEqual(bounds[2][1], [0.5, 1]);
  for (const layer of bounds) assert.deepEqual(layer[2], [0, 0]);
});

Deno.test("the nearest time is found as by looking at all of them", () => {
  for (let round = 0; round < 300; round += 1) {
    const positions = Array.from({ length: 1 + (round % 12) }, (_, i) => i * (1 + (round % 5)) - 7);
    const wanted = ((round * 37) % 90) - 20;
    const distances = positions.map((position) => Math.abs(position - wanted));
    const expected = distances.indexOf(Math.min(...distances)); // the earlier of two
    assert.equal(nearestPlace(positions, wanted), expected, `${positions} ${wanted}`);
  }
});

const mark = (fact, start, predicate) => ({ fact, start, end: start, predicate, date: "" });
const PREDICATES = [
  { name: "visit", label: "Visit", layer: 0 },
  { name: "threaten", label: "Threaten", layer: 1 },
];

Deno.test("marks of one layer that would overlap are one dot, and none is lost", () => {
  const marks = [mark(1, 0, 0), mark(2, 1, 0), mark(3, 1, 1), mark(4, 30, 0)];
  const dots = dotsOf(marks, PREDICATES, (position) => position, 5);
  assert.deepEqual(
    dots.map(({ layer, marks: own }) => [layer, own.map(({ fact }) => fact)]),
    [
      [0, [1, 2]],
      [1, [3]],
      [0, [4]],
    ],
  );
});

Deno.test("the ranking of a day says what is known on it, and the classes add up", () => {
  const data = {
    level: "group",
    layers: layers("a", "b"),
    predicates: PREDICATES,
    positions: [10, 11],
    times: ["d10", "d11"],
    views: ["all_facts", "all_facts"],
    forward: {
      subject: "S",
      object: "O",
      shares: [
        [0.4, 0.6],
        [0.9, 0.1],
      ],
      first: [
        [
          [1, 0.6],
          [0, 0.4],
        ],
        [
          [0, 0.9],
          [1, 0.1],
        ],
      ],
      marks: [mark(7, 11, 0)],
    },
    backward: { subject: "O", object: "S", shares: [], first: [], marks: [] },
  };
  assert.deepEqual(
    rankedAt(data, 0).map(({ predicate, known }) => [predicate, known]),
    [
      ["threaten", false],
      ["visit", false],
    ],
  );
  assert.equal(rankedAt(data, 1)[0].known, true);
  assert.deepEqual(
    sharesAt(data, 0).map(({ name }) => name),
    ["b", "a"],
  );
});

Deno.test("zooming keeps the day inside and stays inside the whole", () => {
  assert.deepEqual(zoomed([0, 400], [0, 400], 200, 2), [100, 300]);
  assert.deepEqual(zoomed([0, 400], [0, 400], 10, 2), [0, 200]);
  assert.deepEqual(zoomed([0, 400], [0, 400], 395, 4), [300, 400]);
  assert.deepEqual(zoomed([100, 300], [0, 400], 200, 0.25), [0, 400]);
  assert.deepEqual(zoomed([100, 110], [0, 400], 105, 8), [98, 112]);
});

Deno.test("a range is cut to what there is, and gone where there is nothing", () => {
  assert.deepEqual(clipped([-1e15, 1e15], [3, 9]), [3, 9]);
  assert.deepEqual(clipped([4, 5.5], [3, 9]), [4, 5.5]);
  assert.equal(clipped([10, 12], [3, 9]), null);
});

Deno.test("keys move the day by a step, a week of steps, a page, or to an end", () => {
  const positions = [100, 110, 400];
  const moved = (key, shiftKey = false) => keyTarget({ key, shiftKey }, 200, positions);
  assert.equal(moved("ArrowRight"), 201);
  assert.equal(moved("ArrowUp"), 201);
  assert.equal(moved("ArrowLeft", true), 193);
  assert.equal(moved("PageDown"), 170);
  assert.equal(moved("PageUp", true), 400); // not beyond the end
  assert.equal(moved("Home"), 100);
  assert.equal(moved("End"), 400);
  for (const key of ["a", "Tab", "toString", "Enter"]) assert.equal(moved(key), null, key);
});
