// How much happened over time: a lane of bars for each direction of the pair and for each of the
// two, over the same time as the ribbon; and all facts between the two as a list.

import { get, timelinePath } from "./api.js";
import { byId, put, set, waiting } from "./dom.js";
import { table } from "./reasons.js";
import { clipped } from "./ribbon_shape.js";
import { counted, shortened, shown } from "./wording.js";

const { d3 } = globalThis;
const LIMIT = 600; // facts between the two that are listed
const [LABEL, LANE, GAP, AXIS, SIDE] = [20, 40, 16, 24, 10]; // pixels
const STEP = LABEL + LANE + GAP; // from one lane to the next
const LETTER = 7.2; // pixels of one in the label of a time

// Fetches the lanes of a query. unknown: which of its names are not in the data; span: `from` and
// `to` as texts, or nothing for the whole span.
export async function fetchLanes({ subject, object, unknown, span }, signal) {
  const lane = (path, names, values) =>
    names.some((name) => unknown.includes(name)) ? null : get(path, { ...span, ...values }, signal);
  const [pair, ofSubject, ofObject] = await Promise.all([
    lane("/api/pair", [subject, object], { subject, object, limit: LIMIT }),
    lane(timelinePath(subject), [subject], { limit: 1 }),
    lane(timelinePath(object), [object], { limit: 1 }),
  ]);
  const [one, other] = [shown(subject), shown(object)];
  const forward = { title: `${one} → ${other}`, data: pair?.forward };
  const backward = { title: `${other} → ${one}`, data: pair?.backward };
  const first = { title: one, data: ofSubject };
  const second = { title: other, data: ofObject };
  const lanes = subject === object ? [forward, first] : [forward, backward, first, second];
  return { lanes, pair };
}

/**
 * The latest time at which something happened between two; null if none is known.
 * @param {{subject: string, object: string}} query
 * @param {AbortSignal} signal
 * @returns {Promise<string | null>}
 */
export async function latestTime({ subject, object }, signal) {
  const pair = await get("/api/pair", { subject, object, limit: 1 }, signal).catch((problem) => {
    if (problem.status !== 404) throw problem;
    return { latest: null }; // one of them is not in the data
  });
  return pair.latest;
}

// The bars of a lane: how many facts begin in each part of its time.
export function barsOf({ counts, first, last }) {
  const step = (last - first + 1) / counts.length;
  return counts
    .map((count, part) => ({
      count,
      first: Math.ceil(first + part * step),
      last: Math.ceil(first + (part + 1) * step) - 1,
    }))
    .filter(({ count }) => count);
}

export class Timelines {
  // guarded(work): does some work, and shows its problem.
  constructor(container, axis, guarded) {
    this.container = container;
    this.axis = axis;
    new ResizeObserver(() => this.draw()).observe(container);
    // Nothing is fetched before it is nearly visible.
    const look = (entries) => {
      if (entries.at(-1).isIntersecting && this.wanted) guarded(() => this.fetch());
    };
    this.sight = new IntersectionObserver(look, { rootMargin: "200px" });
  }

  // Prepares the lanes of a query. span: two positions, or anything else for all of the time
  show({ subject, object, time }, unknown, span) {
    this.clear();
    const { first_position: first, last_position: last } = this.axis;
    const whole = /** @type {[number, number]} */ ([first, last + 1]);
    const part = Array.isArray(span) ? clipped(span, whole) : null;
    const [from, to] = (part ?? []).map((position) => this.axis.text(position));
    this.time = time;
    this.domain = part ?? whole;
    this.wanted = { subject, object, unknown, span: { from, to } };
    this.sight.unobserve(byId("timelines")); // it measures again where they are
    this.sight.observe(byId("timelines"));
  }

  async fetch() {
    this.fetching = new AbortController();
    const work = fetchLanes(this.wanted, this.fetching.signal);
    this.wanted = null;
    const { lanes, pair } = await waiting([byId("timelines")], work);
    this.lanes = lanes;
    this.listFacts(pair);
    this.draw();
  }

  // Marks another time.
  moveTo(time) {
    this.time = time;
    this.draw();
  }

  // Shows nothing, and waits for nothing.
  clear() {
    this.fetching?.abort();
    this.wanted = null;
    this.lanes = null;
    this.container.replaceChildren();
    byId("history").hidden = true;
  }

  listFacts(pair) {
    const heldOut = (pair?.held_out ?? []).map((fact) => ({ ...fact, apart: "held out" }));
    const ways = this.lanes.length > 2 ? [pair?.forward, pair?.backward] : [pair?.forward];
    const facts = [...ways.flatMap(factsOf), ...heldOut];
    facts.sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity) || 0);
    const [summary, body] = byId("history").children;
    byId("history").hidden = facts.length === 0;
    if (this.axis.timeless) byId("history").open = true;
    summary.textContent = historyText(facts.length, heldOut.length);
    body.replaceChildren(table(facts));
  }

  draw() {
    const width = this.container.clientWidth;
    if (!width || !this.lanes || this.axis.timeless) return;
    const height = this.lanes.length * STEP + AXIS;
    const x = d3
      .scaleLinear()
      .domain(this.domain)
      .range([SIDE, width - SIDE]);
    const viewBox = `0 0 ${width} ${height}`;
    const svg = set(d3.create("svg"), { class: "timeline", width, height, viewBox });
    for (const [place, lane] of this.lanes.entries()) {
      const group = put(svg, "g", { class: "lane", transform: `translate(0,${place * STEP})` });
      this.drawLane(group, lane, x, width);
    }
    this.drawAxis(svg, x, height);
    this.container.replaceChildren(svg.node());
  }

  drawLane(group, { title, data }, x, width) {
    const floor = LABEL + LANE;
    put(group, "text", { class: "title", x: SIDE, y: 13 })
      .text(shortened(title, Math.floor(width / 8) - 16))
      .append("tspan")
      .attr("class", "count")
      .attr("dx", 8)
      .text(`\u200e${countText(data)}`); // after a name that is written from the right, too
    put(group, "line", { class: "floor", x1: SIDE, x2: width - SIDE, y1: floor, y2: floor });
    const bars = data ? barsOf(data) : [];
    const most = Math.max(...bars.map(({ count }) => count), 1);
    const height = ({ count }) => Math.max(Math.sqrt(count / most) * (LANE - 4), 3);
    const marks = set(group.selectAll("rect").data(bars).join("rect"), {
      class: "mark",
      x: ({ first }) => x(first),
      width: ({ first, last }) => Math.max(x(last + 1) - x(first) - 1, 2),
      y: (bar) => floor - height(bar),
      height,
    });
    marks.append("title").text(({ count, first, last }) => {
      const dates = new Set([this.axis.text(first), this.axis.text(last)]);
      return `${[...dates].join(" to ")}: ${counted(count, "fact")}`;
    });
  }

  drawAxis(svg, x, height) {
    const [left, right] = x.range();
    const at = this.axis.position(this.time);
    const queryX = at === null ? null : (x(at) + x(at + 1)) / 2;
    const half = (LETTER * this.time.length) / 2;
    for (const label of this.axis.labels(x, queryX, half)) {
      put(svg, "text", { class: "axis", x: label.x, y: height - 6 }).text(label.text);
    }
    if (queryX === null || queryX < left - 1 || queryX > right + 1) return;
    // Through the bars of each lane and not through its title.
    const lines = this.lanes.map((_, lane) => `M${queryX} ${lane * STEP + LABEL}v${LANE + 6}`);
    const query = put(svg, "g", { class: "query" });
    put(query, "path", { d: lines.join("") });
    const middle = Math.min(Math.max(queryX, left + half - 2), right - half + 2);
    put(query, "text", { x: middle, y: height - 6 }).text(this.time);
  }
}

export function historyText(count, heldOut) {
  const unused = heldOut
    ? ` (${heldOut} held out: no answer uses them, and no bar counts them)`
    : "";
  return `${counted(count, "fact")} between them${unused}, as a list`;
}

const factsOf = (data) => (data ? [...data.facts, ...data.without_date] : []);

export function countText(data) {
  if (!data) return "not in the data";
  const undated = data.undated ? `, ${data.undated} undated` : "";
  return counted(data.total, "fact") + undated;
}
