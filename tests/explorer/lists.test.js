// The lists, the forecast, the steps, and the files that are saved: their words and their order.

import assert from "node:assert/strict";
import { timeless } from "./without_browser.js";
import { Axis } from "../../src/apptek/server/explorer/axis.js";
import { fileName } from "../../src/apptek/server/explorer/export.js";
import {
  expectedText,
  nextText,
  startOf,
  windowOf,
} from "../../src/apptek/server/explorer/forecast.js";
import { medianText, membersText } from "../../src/apptek/server/explorer/actor.js";
import { changeText, windowText } from "../../src/apptek/server/explorer/watch.js";
import { isWanted, sortedBy } from "../../src/apptek/server/explorer/list_table.js";
import { meetingText, openText } from "../../src/apptek/server/explorer/steps.js";

Deno.test("lists are sorted by words or numbers", () => {
  const rows = [
    { name: "b", change: -0.3 },
    { name: "a", change: 0.2 },
    { name: "c", change: 0.1 },
  ];
  const order = (value, down) => sortedBy(rows, value, down).map(({ name }) => name);
  const change = (row) => row.change;
  assert.deepEqual(order(change, true), ["a", "c", "b"]);
  assert.deepEqual(order(change, false), ["b", "c", "a"]);
  assert.deepEqual(
    order((row) => row.name, false),
    ["a", "b", "c"],
  );
  assert.equal(rows[0].name, "b"); // the rows themselves stay as they are
});

Deno.test("a change is told in points, a window in its unit", () => {
  assert.equal(changeText(0.126), "▲ +13 points");
  assert.equal(changeText(-0.5), "▼ −50 points");
  assert.equal(changeText(-0.004), "0 points");
  assert.equal(windowText({ length: 7, unit: "day" }), "week");
  assert.equal(windowText({ length: 1, unit: "year" }), "year");
  assert.equal(windowText({ length: 24, unit: "hour" }), "24 hours");
});

Deno.test("a list is searched by names", () => {
  const row = { subject: "Boko Haram", object: "Citizen (Nigeria)" };
  for (const words of ["", "boko", "NIGERIA boko"]) assert.ok(isWanted(row, words), words);
  assert.ok(!isWanted(row, "boko china"));
});

Deno.test("a forecast has the short window or the long one of its unit", () => {
  const axis = new Axis({ unit: "year", first_position: 1900, last_position: 2020 });
  assert.equal(windowOf(axis, "5"), 5);
  for (const other of [undefined, "1", "30", "x"]) assert.equal(windowOf(axis, other), 1);
  assert.equal(startOf(axis, "1950"), "1950");
  for (const none of ["?", "1900", "1066"]) assert.equal(startOf(axis, none), null);
});

Deno.test("how many facts a forecast expects", () => {
  assert.equal(expectedText(1.24), "about 1.2 facts");
  assert.equal(expectedText(12.4), "about 12 facts");
  assert.equal(expectedText(1), "about 1 fact");
  assert.equal(expectedText(0.0123), "about 0.012 facts");
  assert.equal(expectedText(0.00083), "one fact in about 1,200 windows of this length");
});

Deno.test("when the next event comes is said, or that it is far away", () => {
  const soon = { median: 3, median_time: "2015-01-03", longest: 90 };
  assert.match(
    nextText(soon, "day"),
    /within 3 days in half of similar cases \(by 2015-01-03\)\.$/,
  );
  assert.match(nextText({ ...soon, median: null }, "day"), /more than 90 days away\.$/);
  assert.equal(medianText(1, 90, "day"), "within 1 day");
  assert.equal(medianText(null, 90, "day"), "more than 90 days");
});

Deno.test("members are named where they are combined", () => {
  const members = ["Egypt", "Police (Egypt)", "Bank (Egypt)", "Women (Egypt)", "Media (Egypt)"];
  assert.equal(membersText({ members }, false), "");
  assert.match(membersText({ members }, true), /Egypt, Police \(Egypt\).* and 1 more\.$/);
});

Deno.test("where both sides meet, and what is left to do, is said", () => {
  assert.equal(meetingText(["a", "b"], "a", "b"), ": one side reaches the other");
  assert.equal(meetingText(["a", "x"], "a", "b"), " in x");
  assert.equal(meetingText([..."vwxyz"], "a", "b"), " in v, w, x, y and others");
  assert.match(openText(true, 0, 0), /^No steps are left/);
  assert.equal(openText(false, 3, 0), "There is nothing to follow near in time.");
  assert.match(openText(false, 3, 9), /nearest in time, until they meet\. 3 steps left\.$/);
  assert.ok(!timeless(() => openText(false, 3, 9) + openText(false, 3, 0)).includes("in time"));
});

Deno.test("a file is named after its question, whatever the names are", () => {
  const query = { subject: "Citizen (Nigeria)", object: "../a b", time: "2015-01-03" };
  assert.equal(fileName(query, "svg"), "Citizen_Nigeria_-_a_b-2015-01-03.svg");
  assert.ok(fileName({ ...query, subject: "x".repeat(300) }, "json").length < 100);
});
