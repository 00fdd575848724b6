// The time axis: every unit writes and reads its own texts, and speaks of nothing else.

import assert from "node:assert/strict";
import "./without_browser.js";
import { Axis, dayMeanings } from "../../src/apptek/server/explorer/axis.js";

const { d3 } = globalThis;
const axisOf = (unit, span = {}) => new Axis({ unit, ...span });

Deno.test("a position has one text, and the text has this position", () => {
  const texts = {
    second: ["2021-05-03 14:22:07", 1_620_051_727],
    minute: ["2021-05-03 14:22", 27_000_862],
    hour: ["2021-05-03 14:00", 450_014],
    day: ["2021-05-03", 18_750],
    week: ["2021-05-03", 2679],
    month: ["2021-05", 24_256],
    year: ["2021", 2021],
    integer: ["2021", 2021],
  };
  for (const [unit, [text, position]] of Object.entries(texts)) {
    const axis = axisOf(unit);
    assert.equal(axis.text(position), text, unit);
    assert.equal(axis.position(text), position, unit);
    for (const far of unit === "month" ? [0, 11, 40_000] : [-700, -1, 0, 40_000]) {
      assert.equal(axis.position(axis.text(far)), far, `${unit} ${axis.text(far)}`);
    }
  }
});

Deno.test("a part of a day belongs to its step, and a week to its Monday", () => {
  assert.equal(axisOf("hour").position("2021-05-03 14:59:07"), 450_014);
  assert.equal(axisOf("hour").position("2021-05-03T14:59"), 450_014);
  assert.equal(axisOf("week").text(axisOf("week").position("2021-05-09")), "2021-05-03");
  assert.equal(axisOf("week").text(axisOf("week").position("2021-05-10")), "2021-05-10");
});

Deno.test("years are read from dates that have only them", () => {
  const axis = axisOf("year");
  assert.equal(axis.position("1066-##-##"), 1066);
  assert.equal(axis.position("-431-##-##"), -431);
  assert.equal(axis.text(-431), "-431-##-##");
  assert.equal(axis.text(1066), "1066");
});

Deno.test("what is no time has no position", () => {
  for (const text of ["", "?", "yesterday", "2021/05/03"]) {
    assert.equal(axisOf("day").position(text), null, text);
  }
  assert.equal(axisOf("integer").position("2021-05-03"), null);
});

Deno.test("times before the first fact and after the last one are outside", () => {
  const axis = axisOf("day", { first_position: 18_750, last_position: 18_760 });
  const outside = ["2021-05-02", "2021-05-03", "2021-05-13", "2021-05-14", "?"];
  assert.deepEqual(
    outside.map((text) => axis.isOutside(text)),
    [true, false, false, true, false],
  );
});

Deno.test("a unit has its own word and its own windows", () => {
  assert.equal(axisOf("hour").word, "hour");
  assert.deepEqual(axisOf("hour").windows, [24, 168]);
  assert.equal(axisOf("year").word, "year");
  assert.deepEqual(axisOf("year").windows, [1, 5]);
  assert.equal(axisOf("integer").word, "step");
  for (const unit of ["second", "minute", "day", "week", "month"]) {
    const [short, long] = axisOf(unit).windows;
    assert.ok(short < long, unit);
  }
});

Deno.test("ticks are whole steps inside the range, none twice", () => {
  const ranges = { second: 500, hour: 99, day: 365, week: 60, month: 48, year: 120, integer: 9 };
  for (const [unit, length] of Object.entries(ranges)) {
    const axis = axisOf(unit);
    const first = axis.position(unit === "integer" ? "2021" : "2021-05-03");
    const x = d3
      .scaleLinear()
      .domain([first, first + length])
      .range([12, 900]);
    const ticks = axis.ticks(x);
    assert.ok(ticks.length > 1, unit);
    assert.equal(new Set(ticks).size, ticks.length, unit);
    for (const tick of ticks) {
      assert.ok(Number.isInteger(tick) && tick >= first && tick <= first + length, unit);
    }
  }
});

Deno.test("ticks of days are the beginnings of months, those of hours the beginnings of days", () => {
  const ticksOf = (unit, text, length) => {
    const axis = axisOf(unit);
    const first = axis.position(text);
    const x = d3.scaleLinear().domain([first, first + length]);
    return axis.ticks(x.range([0, 700])).map((tick) => axis.text(tick));
  };
  assert.ok(ticksOf("day", "2021-01-01", 365).every((text) => text.endsWith("-01")));
  assert.ok(ticksOf("hour", "2021-05-01 00:00", 24 * 9).every((text) => text.endsWith("00:00")));
});

const scale = (first, length, width) =>
  d3
    .scaleLinear()
    .domain([first, first + length])
    .range([0, width]);

Deno.test("a year of days has a label for every month; the first has the year", () => {
  const axis = axisOf("day");
  const first = axis.position("2014-01-15");
  const texts = axis.labels(scale(first, 365, 1000), null, 0).map(({ text }) => text);
  const months = "Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  assert.deepEqual(texts, ["Feb 2014", ...months, "2015"]);
});

Deno.test("labels are as short as their unit allows", () => {
  const at = (unit, text) => axisOf(unit).tickText(axisOf(unit).position(text));
  assert.equal(at("day", "2014-02-03"), "3 Feb");
  assert.equal(at("hour", "2021-05-03 14:00"), "14:00");
  assert.equal(at("hour", "2021-05-03 00:00"), "3 May");
  assert.equal(at("day", "-000431-01-01"), "-000431");
  assert.equal(at("year", "1066"), "1066");
  assert.equal(at("month", "2021-05"), "2021-05");
});

Deno.test("labels of the axis cover neither each other nor the label of the query", () => {
  const axis = axisOf("day");
  const x = scale(axis.position("2014-01-01"), 900, 1000);
  for (const query of [null, 0, 333, 1000]) {
    const kept = axis.labels(x, query, 40);
    assert.ok(kept.length > 1);
    for (const [place, { x: at, end }] of kept.entries()) {
      assert.ok(at > 0 && at < 1000);
      if (place) assert.ok(at - (end - at) > kept[place - 1].end);
      if (query !== null) assert.ok(Math.abs(at - query) > 40 + end - at);
    }
  }
});

Deno.test("words and other ways to write a day are understood, or said to be unclear", () => {
  const axis = axisOf("day", {
    first: "2014-01-01",
    last: "2014-12-31",
    first_position: 16_071,
    last_position: 16_435,
  });
  const meant = {
    tomorrow: "2015-01-01",
    "Next week": "2015-01-07",
    "31/12/2014": "2014-12-31",
    "12.31.2014": "2014-12-31",
    " 2014-05-01 ": "2014-05-01",
    "06/01/2015": "06/01/2015",
  };
  for (const [typed, text] of Object.entries(meant)) assert.equal(axis.read(typed), text);
  assert.deepEqual(dayMeanings("06/01/2015"), ["2015-01-06", "2015-06-01"]);
  assert.deepEqual(dayMeanings("01/01/2015"), ["2015-01-01"]);
  assert.deepEqual(dayMeanings("45/45/2015"), []);
  assert.deepEqual(axis.hint("06/01/2015"), ["write 2015-01-06 or 2015-06-01", true]);
  assert.deepEqual(axis.hint("next week"), ["7 days after the last fact", false]);
  assert.deepEqual(axis.hint("2014-05-01"), ["2014-01-01 to 2014-12-31", false]);
  assert.deepEqual(axis.hint("2031-01-01"), ["outside 2014-01-01 to 2014-12-31", true]);
  assert.equal(axisOf("year", { last_position: 2020 }).read("next week"), "next week");
});
