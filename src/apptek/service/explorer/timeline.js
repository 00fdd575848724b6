// The pair and both entities over time: one lane each, one axis, the time of the query marked.

import { byId, el, isZoomGesture, waiting } from "./dom.js";
import { barsOf, busyRange, fetchLanes, LETTER, withRoom, zoomedLanes } from "./lanes.js";
import { table } from "./reasons.js";
import { clipped } from "./ribbon_shape.js";
import { counted, shortened, shown } from "./wording.js";

const { d3 } = globalThis;
const [LABEL, LANE, GAP, AXIS, SIDE] = [20, 40, 16, 24, 10]; // pixels
const STEP = LABEL + LANE + GAP; // from one lane to the next
const ROWS = 5; // of intervals in a lane
const LISTED = 5; // facts in the box at the pointer
const PAUSE = 250; // milliseconds after zooming before finer counts are fetched

export class Timelines {
  constructor(container, axis, { onZoom, guarded }) {
    this.container = container;
    this.axis = axis;
    this.onZoom = onZoom;
    this.guarded = guarded;
    this.tip = el("div", { class: "tip", hidden: true });
    this.zoom = d3
      .zoom()
      .filter(isZoomGesture)
      .on("zoom", ({ transform, sourceEvent }) => this.zoomed(transform, sourceEvent));
    new ResizeObserver(() => this.lanes && !this.axis.timeless && this.draw()).observe(container);
    byId("time-in").addEventListener("click", () => this.zoomBy(2));
    byId("time-out").addEventListener("click", () => this.zoomBy(0.5));
    byId("time-reset").addEventListener("click", () => this.show(null));
  }

  // Loads the lanes of a query. zoom: two positions, "all", or null for where the facts are.
  async load({ subject, object, time }, zoom, unknown) {
    this.clear();
    const domain = Array.isArray(zoom) ? clipped(zoom, this.whole()) : null;
    this.subject = subject;
    this.object = object;
    this.unknown = unknown;
    this.time = time;
    this.domain = domain ?? this.whole();
    await this.fetch();
    if (this.axis.timeless) return; // the list says it all
    if (!domain && zoom !== "all") {
      this.domain = busyRange(this.lanes, this.axis.position(time), this.whole());
    }
    this.draw();
  }

  // Marks another time.
  moveTo(time) {
    this.time = time;
    if (this.lanes && !this.axis.timeless) this.draw();
  }

  // Shows nothing, and waits for nothing.
  clear() {
    clearTimeout(this.timer);
    this.fetching?.abort();
    this.lanes = null;
    this.container.replaceChildren();
    byId("history").hidden = true;
  }

  /** @returns {[number, number]} */
  whole() {
    const { first_position: first, last_position: last } = this.axis;
    return [first, last + 1];
  }

  async fetch() {
    this.fetching?.abort();
    this.fetching = new AbortController();
    const [first, last] = this.domain;
    const [low, high] = this.whole();
    const all = first <= low && last >= high;
    const span = all
      ? {}
      : { from: this.axis.text(Math.floor(first)), to: this.axis.text(Math.ceil(last)) };
    const work = fetchLanes(this, span, this.fetching.signal);
    this.lanes = await waiting([byId("timelines")], work);
    this.listFacts();
  }

  listFacts() {
    const ofPair = this.lanes.filter(({ ofEntity }) => !ofEntity);
    const heldOut = (ofPair[0].heldOut ?? []).map((fact) => ({ ...fact, apart: "held out" }));
    const facts = [...ofPair.flatMap(({ data }) => factsOf(data)), ...heldOut];
    facts.sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity) || 0);
    const [summary, body] = byId("history").children;
    byId("history").hidden = facts.length === 0;
    if (this.axis.timeless) byId("history").open = true;
    summary.textContent = historyText(facts.length, heldOut.length);
    body.replaceChildren(table(facts));
  }

  draw() {
    const width = this.container.clientWidth;
    if (!width) return;
    const height = this.lanes.length * STEP + AXIS;
    this.base = d3
      .scaleLinear()
      .domain(this.whole())
      .range([SIDE, width - SIDE]);
    const svg = d3
      .create("svg")
      .attr("class", "timeline")
      .attr("width", width)
      .attr("height", height)
      .attr("viewBox", `0 0 ${width} ${height}`)
      .attr("tabindex", 0)
      .attr("role", "group")
      .attr("aria-label", "Timelines: + and − zoom, arrows move, 0 shows all");
    const [first, last] = this.base.domain();
    const frame = [
      [SIDE, 0],
      [width - SIDE, height],
    ];
    this.zoom
      .scaleExtent([1, Math.max((last - first) / 4, 1)])
      .extent(frame)
      .translateExtent(frame);
    svg.append("rect").attr("class", "catch").attr("width", width).attr("height", height);
    this.query = svg.append("g").attr("class", "query");
    this.query.append("path");
    this.query.append("text").attr("y", height - 6);
    this.drawLanes(svg, width);
    this.ticks = svg
      .append("g")
      .attr("class", "axis")
      .attr("transform", `translate(0,${height - AXIS})`);
    const focused = this.container.contains(document.activeElement);
    this.container.replaceChildren(svg.node(), this.tip);
    if (focused) svg.node().focus({ preventScroll: true });
    this.element = svg
      .call(this.zoom)
      .on("pointermove", (event) => this.showTip(event))
      .on("pointerleave", () => (this.tip.hidden = true))
      .on("keydown", (event) => this.handleKey(event));
    this.moveToDomain();
  }

  drawLanes(svg, width) {
    this.groups = svg
      .selectAll("g.lane")
      .data(this.lanes)
      .join("g")
      .attr("class", "lane")
      .attr("transform", (_, index) => `translate(0,${index * STEP})`);
    this.groups
      .append("text")
      .attr("class", "title")
      .attr("x", SIDE)
      .attr("y", 13)
      .text(({ title }) => shortened(title, Math.floor(width / 8) - 16))
      .append("tspan")
      .attr("class", "count")
      .attr("dx", 8)
      .text(({ data }) => `\u200e${countText(data)}`); // after a name that is written from the right, too
    this.groups
      .append("line")
      .attr("class", "floor")
      .attr("x1", SIDE)
      .attr("x2", width - SIDE)
      .attr("y1", LABEL + LANE)
      .attr("y2", LABEL + LANE);
    this.groups.append("g").attr("class", "marks");
  }

  // Moves the picture to the current domain.
  moveToDomain() {
    const [first, last] = this.domain;
    const [low, high] = this.base.domain();
    const scale = (high - low) / (last - first);
    const [left] = this.base.range();
    const transform = d3.zoomIdentity.translate(left - scale * this.base(first), 0).scale(scale);
    this.element.call(this.zoom.transform, transform);
  }

  // event: null if the page itself moved the picture
  zoomed(transform, event) {
    const x = transform.rescaleX(this.base);
    this.domain = x.domain();
    this.drawMarks(x);
    if (event) this.refetch();
  }

  // Fetches what the domain needs, once it has not changed for a while.
  refetch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const ends = this.domain.map((position) => position.toFixed(1));
      this.onZoom(this.isWhole() ? "all" : ends.join(".."));
      this.guarded(async () => {
        await this.fetch();
        this.draw();
      });
    }, PAUSE);
  }

  isWhole() {
    const [first, last] = this.whole();
    return Math.abs(this.domain[0] - first) < 0.5 && Math.abs(this.domain[1] - last) < 0.5;
  }

  show(domain) {
    if (!this.lanes) return;
    this.domain = domain ?? this.whole();
    this.moveToDomain();
    this.refetch();
  }

  // shift: in parts of the width
  zoomBy(factor, shift = 0) {
    if (!this.lanes) return;
    const at = this.axis.position(this.time);
    this.show(zoomedLanes(this.domain, this.whole(), at, factor, shift));
  }

  handleKey(event) {
    const moves = { "+": [2], "=": [2], "-": [0.5], ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25] };
    if (event.key === "0") this.show(null);
    else if (moves[event.key]) this.zoomBy(...moves[event.key]);
    else return;
    event.preventDefault();
  }

  drawMarks(x) {
    this.bars = this.lanes.map(({ data }) => (data ? barsOf(data, x) : []));
    this.groups.each(({ data }, index, groups) => {
      const marks = d3.select(groups[index]).select("g.marks");
      drawBars(marks, this.bars[index]);
      drawIntervals(marks, data?.facts ?? [], x);
    });
    this.drawAxis(x);
  }

  drawAxis(x) {
    const [left, right] = x.range();
    const at = this.axis.position(this.time);
    const queryX = at === null ? null : (x(at) + x(at + 1)) / 2;
    this.ticks
      .selectAll("text")
      .data(withRoom(this.axis.ticks(x), x, queryX, this.axis.last.length))
      .join("text")
      .attr("x", (position) => x(position))
      .attr("y", 18)
      .text((position) => this.axis.text(position));
    const visible = queryX !== null && queryX >= left - 1 && queryX <= right + 1;
    this.query.attr("display", visible ? null : "none");
    if (!visible) return;
    // Through the bars of each lane and not through its title.
    const lines = this.lanes.map((_, lane) => `M${queryX} ${lane * STEP + LABEL}v${LANE + 6}`);
    this.query.select("path").attr("d", lines.join(""));
    const half = (LETTER * this.time.length) / 2 - 2;
    this.query
      .select("text")
      .attr("x", Math.min(Math.max(queryX, left + half), right - half))
      .text(this.time);
  }

  // Lists the facts of the bar under the pointer.
  showTip(event) {
    const [x, y] = d3.pointer(event, this.element.node());
    const bars = this.bars?.[Math.floor(y / STEP)] ?? [];
    const near = bars.filter(({ from, to }) => x >= from - 3 && x <= Math.max(to, from + 2) + 3);
    const bar = d3.least(near, ({ from }) => Math.abs(from - x));
    this.tip.hidden = !bar;
    if (!bar) return;
    const facts = bar.facts.slice(0, LISTED).map(factLine);
    const rest = bar.count - facts.length;
    const dates = [...new Set([this.axis.text(bar.first), this.axis.text(bar.last)])].join(" to ");
    this.tip.replaceChildren(
      el("p", { class: "soft" }, `${dates}: ${counted(bar.count, "fact")}`),
      ...facts,
      ...(facts.length && rest > 0 ? [el("p", { class: "soft" }, `and ${rest} more`)] : []),
    );
    const widest = this.container.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(Math.min(x + 12, widest), 0)}px`;
    this.tip.style.top = `${y + 14}px`;
  }
}

export function historyText(count, heldOut) {
  const unused = heldOut
    ? ` (${heldOut} held out: no answer uses them, and no bar counts them)`
    : "";
  return `${counted(count, "fact")} between the two${unused}, as a list`;
}

const factsOf = (data) => (data ? [...data.facts, ...data.without_date] : []);

export function countText(data) {
  if (!data) return "not in the data";
  const undated = data.undated ? `, ${data.undated} undated` : "";
  return counted(data.total, "fact") + undated;
}

const factLine = ({ subject, predicate, object }) =>
  el("p", {}, `${shown(subject)} `, el("b", {}, shown(predicate)), ` ${shown(object)}`);

function drawBars(marks, bars) {
  const height = d3
    .scaleSqrt()
    .domain([0, Math.max(...bars.map(({ count }) => count), 1)])
    .range([0, LANE - 4]);
  marks
    .selectAll("rect.mark")
    .data(bars)
    .join("rect")
    .attr("class", "mark")
    .attr("x", ({ from }) => from)
    .attr("width", ({ from, to }) => Math.max(to - from - 1, 2))
    .attr("y", ({ count }) => LABEL + LANE - Math.max(height(count), 3))
    .attr("height", ({ count }) => Math.max(height(count), 3));
}

function drawIntervals(marks, facts, x) {
  const [, right] = x.range();
  const left = ({ start }) => Math.max(x(start), SIDE);
  const visible = ({ start, end }) => end > start && x(end + 1) > SIDE && x(start) < right;
  marks
    .selectAll("rect.lasting")
    .data(facts.filter(visible))
    .join("rect")
    .attr("class", "lasting")
    .attr("x", left)
    .attr("width", (fact) => Math.max(Math.min(x(fact.end + 1), right) - left(fact), 2))
    .attr("y", (_, row) => LABEL + 2 + (row % ROWS) * 6)
    .attr("height", 4);
}
