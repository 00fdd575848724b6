// The pair and both entities over time: one lane each, one axis, the time of the query marked.

import { get, timelinePath } from "./api.js";
import { byId, el, waiting } from "./dom.js";
import { table } from "./reasons.js";
import { counted, shortened, shown } from "./wording.js";

const d3 = globalThis.d3;
const LIMIT = 600; // facts of a lane that are asked for; beyond, counts are drawn
const [LABEL, LANE, GAP, AXIS, SIDE] = [20, 40, 16, 24, 10];
const ROOM = 80; // pixels from the middle of one label to that of the next
const BIN = 3; // pixels of a bar at least
const ROWS = 5; // of intervals in a lane
const LISTED = 5; // facts in the box at the pointer
const PAUSE = 250; // milliseconds after zooming before finer counts are asked for

export class Timelines {
  constructor(place, axis, { onZoom, guarded }) {
    Object.assign(this, { place, axis, onZoom, guarded });
    this.tip = el("div", { class: "tip", hidden: true });
    this.zoom = d3.zoom().filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.touches ? event.touches.length > 1 : !event.button))
      .on("zoom", ({ transform, sourceEvent }) => this.zoomed(transform, sourceEvent));
    new ResizeObserver(() => this.lanes && this.draw()).observe(place);
    byId("time-in").addEventListener("click", () => this.by(2));
    byId("time-out").addEventListener("click", () => this.by(0.5));
    byId("time-reset").addEventListener("click", () => this.show(null));
  }

  // Loads the lanes of a query; `zoom`: a stretch of positions, "all", or null for where facts are.
  async load({ subject, object, time }, zoom) {
    this.clear();
    if (this.axis.timeless) {
      this.place.replaceChildren(el("p", { class: "empty" }, "All facts of the data are undated: there is no time to show them over."));
      return;
    }
    const stretch = Array.isArray(zoom) ? this.inside(zoom) : null;
    Object.assign(this, { subject, object, time, domain: stretch ?? this.whole() });
    await this.fetch();
    if (!stretch && zoom !== "all") this.domain = this.busy();
    this.draw();
  }

  // Nothing is shown, nothing waited for.
  clear() {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.lanes = null;
    this.place.replaceChildren();
    byId("history").hidden = true;
  }

  // What of a stretch is inside the data; null where that is nothing.
  inside([first, last]) {
    const [low, high] = this.whole();
    const [from, to] = [Math.max(first, low), Math.min(last, high)];
    return from < to ? [from, to] : null;
  }

  // The stretch where something happens, with the query in it.
  busy() {
    const ends = this.lanes.flatMap(({ data }) => (data ? extent(data) : []));
    const at = this.axis.position(this.time);
    const [first, last] = d3.extent(at === null ? ends : [...ends, at]);
    if (first === undefined) return this.whole();
    const margin = Math.max((last - first) * 0.04, 2);
    const [low, high] = this.whole();
    return [Math.max(Math.min(first - margin, high - 4), low), Math.min(Math.max(last + 1 + margin, low + 4), high)];
  }

  whole() {
    const { first_position: first, last_position: last } = this.axis;
    return [first, last + 1];
  }

  async fetch() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { subject, object } = this;
    const [first, last] = this.domain;
    const whole = this.whole();
    const all = first <= whole[0] && last >= whole[1];
    const span = all ? {} : { from: this.axis.text(Math.floor(first)), to: this.axis.text(Math.ceil(last)) };
    const ask = (path, more = {}) => get(path, { ...span, limit: LIMIT, ...more }, this.asking.signal);
    const known = (promise) => promise.catch((problem) => { if (problem.status === 404) return null; throw problem; });
    const work = Promise.all([known(ask("/api/pair", { subject, object })), known(ask(timelinePath(subject))), known(ask(timelinePath(object)))]);
    const [pair, one, other] = await waiting([byId("timelines")], work);
    this.lanes = [
      { title: `${shown(subject)} → ${shown(object)}`, data: pair?.forward },
      { title: `${shown(object)} → ${shown(subject)}`, data: pair?.backward },
      { title: shown(subject), data: one, all: true },
      ...(subject === object ? [] : [{ title: shown(object), data: other, all: true }]),
    ];
    if (subject === object) this.lanes.splice(1, 1);
    this.list();
  }

  list() {
    const facts = this.lanes.filter(({ all }) => !all).flatMap(({ data }) => data?.facts ?? []);
    facts.sort((one, other) => one.start - other.start);
    const [summary, body] = byId("history").children;
    byId("history").hidden = facts.length === 0;
    summary.textContent = `${counted(facts.length, "fact")} between the two, as a list`;
    body.replaceChildren(table(facts));
  }

  draw() {
    const width = this.place.clientWidth;
    if (!width) return;
    const height = this.lanes.length * (LABEL + LANE + GAP) + AXIS;
    this.base = d3.scaleLinear().domain(this.whole()).range([SIDE, width - SIDE]);
    const svg = d3.create("svg").attr("class", "timeline").attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`)
      .attr("tabindex", 0).attr("role", "group").attr("aria-label", "Timelines: + and − zoom, arrows move, 0 shows all");
    const [first, last] = this.base.domain();
    this.zoom.scaleExtent([1, Math.max((last - first) / 4, 1)]).extent([[SIDE, 0], [width - SIDE, height]]).translateExtent([[SIDE, 0], [width - SIDE, height]]);
    svg.append("rect").attr("class", "catch").attr("width", width).attr("height", height);
    this.query = svg.append("g").attr("class", "query");
    this.query.append("line").attr("y1", 0).attr("y2", height - AXIS + 4);
    this.query.append("text").attr("y", height - 6);
    this.groups = svg.selectAll("g.lane").data(this.lanes).join("g").attr("class", "lane").attr("transform", (_, place) => `translate(0,${place * (LABEL + LANE + GAP)})`);
    this.groups.append("text").attr("class", "title").attr("x", SIDE).attr("y", 13).text(({ title }) => shortened(title, Math.floor(width / 8) - 16))
      .append("tspan").attr("class", "count").attr("dx", 8).text(({ data }) => this.count(data));
    this.groups.append("line").attr("class", "floor").attr("x1", SIDE).attr("x2", width - SIDE).attr("y1", LABEL + LANE).attr("y2", LABEL + LANE);
    this.groups.append("g").attr("class", "marks");
    this.ticks = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - AXIS})`);
    const focused = this.place.contains(document.activeElement);
    this.place.replaceChildren(svg.node(), this.tip);
    if (focused) svg.node().focus({ preventScroll: true });
    this.element = svg.call(this.zoom).on("pointermove", (event) => this.point(event)).on("pointerleave", () => (this.tip.hidden = true)).on("keydown", (event) => this.key(event));
    this.apply();
  }

  count(data) {
    if (!data) return "not in the data";
    return [counted(data.total, "fact"), data.undated ? `${data.undated} undated` : null].filter(Boolean).join(", ");
  }

  // Moves the picture to the current stretch.
  apply() {
    const [first, last] = this.domain;
    const scale = (this.base.domain()[1] - this.base.domain()[0]) / (last - first);
    const [left] = this.base.range();
    this.element.call(this.zoom.transform, d3.zoomIdentity.translate(left - scale * this.base(first), 0).scale(scale));
  }

  zoomed(transform, event) {
    const x = transform.rescaleX(this.base);
    this.domain = x.domain();
    this.render(x);
    if (event) this.changed();
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.onZoom(this.isWhole() ? "all" : this.domain.map((place) => place.toFixed(1)).join(".."));
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
    this.apply();
    this.changed();
  }

  by(factor, shift = 0) {
    if (!this.lanes) return;
    const [first, last] = this.domain;
    const [low, high] = this.whole();
    const at = this.axis.position(this.time);
    const centre = factor > 1 && at !== null && at >= first && at <= last ? at + 0.5 : (first + last) / 2;
    const size = Math.max(Math.min((last - first) / factor, high - low), 4);
    const start = Math.min(Math.max(centre - size / 2 + shift * size, low), high - size);
    this.show([start, start + size]);
  }

  key(event) {
    const move = { "+": [2], "=": [2], "-": [0.5], ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25] }[event.key];
    if (event.key === "0") this.show(null);
    else if (move) this.by(...move);
    else return;
    event.preventDefault();
  }

  render(x) {
    const bars = this.lanes.map(({ data }) => (data ? barsOf(data, x) : []));
    this.groups.each(function ({ data }, place) {
      const tall = d3.scaleSqrt().domain([0, Math.max(...bars[place].map(({ count }) => count), 1)]).range([0, LANE - 4]);
      const marks = d3.select(this).select("g.marks");
      marks.selectAll("rect.mark").data(bars[place]).join("rect").attr("class", "mark").attr("x", ({ from }) => from).attr("width", ({ from, to }) => Math.max(to - from - 1, 2))
        .attr("y", ({ count }) => LABEL + LANE - Math.max(tall(count), 3)).attr("height", ({ count }) => Math.max(tall(count), 3));
      const lasting = (data?.facts ?? []).filter(({ start, end }) => end > start && x(end + 1) > SIDE && x(start) < x.range()[1]);
      marks.selectAll("rect.lasting").data(lasting).join("rect").attr("class", "lasting").attr("x", ({ start }) => Math.max(x(start), SIDE))
        .attr("width", ({ start, end }) => Math.max(Math.min(x(end + 1), x.range()[1]) - Math.max(x(start), SIDE), 2))
        .attr("y", (_, row) => LABEL + 2 + (row % ROWS) * 6).attr("height", 4);
    });
    this.bars = bars;
    this.drawAxis(x);
  }

  drawAxis(x) {
    const [left, right] = x.range();
    const wanted = Math.max(Math.floor((right - left) / 70), 2);
    const places = this.axis.unit === "day"
      ? d3.scaleUtc().domain(x.domain().map((day) => day * 864e5)).ticks(wanted).map((date) => date / 864e5)
      : x.ticks(wanted).filter(Number.isInteger);
    const at = this.axis.position(this.time);
    const here = at === null ? null : (x(at) + x(at + 1)) / 2;
    this.ticks.selectAll("text").data(apart(places, x, here)).join("text").attr("x", (place) => x(place)).attr("y", 18).text((place) => this.axis.text(place));
    const seen = here !== null && here >= left - 1 && here <= right + 1;
    this.query.attr("display", seen ? null : "none");
    if (!seen) return;
    this.query.select("line").attr("x1", here).attr("x2", here);
    this.query.select("text").attr("x", Math.min(Math.max(here, left + 34), right - 34)).text(this.time);
  }

  point(event) {
    const [x, y] = d3.pointer(event, this.element.node());
    const lane = Math.floor(y / (LABEL + LANE + GAP));
    const near = (this.bars?.[lane] ?? []).filter(({ from, to }) => x >= from - 3 && x <= Math.max(to, from + 2) + 3);
    const bar = near.sort((one, other) => Math.abs(one.from - x) - Math.abs(other.from - x))[0];
    this.tip.hidden = !bar;
    if (!bar) return;
    const facts = bar.facts.slice(0, LISTED).map((fact) => el("p", {}, `${shown(fact.subject)} `, el("b", {}, shown(fact.predicate)), ` ${shown(fact.object)}`));
    const rest = bar.count - facts.length;
    const dates = [...new Set([this.axis.text(bar.first), this.axis.text(bar.last)])].join(" to ");
    this.tip.replaceChildren(el("p", { class: "soft" }, `${dates}: ${counted(bar.count, "fact")}`), ...facts, ...(facts.length && rest > 0 ? [el("p", { class: "soft" }, `and ${rest} more`)] : []));
    const limit = this.place.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(Math.min(x + 12, limit), 0)}px`;
    this.tip.style.top = `${y + 14}px`;
  }
}

// Bars: of the facts themselves where all are there, else of the counts.
function barsOf(data, x) {
  const [left, right] = x.range();
  const seen = ({ from, to }) => to > left - 1 && from < right + 1;
  if (data.total > data.facts.length) {
    const step = (data.last - data.first + 1) / data.counts.length;
    return data.counts.map((count, place) => ({ count, facts: [], first: Math.ceil(data.first + place * step), last: Math.ceil(data.first + (place + 1) * step) - 1 }))
      .filter(({ count }) => count).map((bar) => ({ ...bar, from: x(bar.first), to: x(bar.last + 1) })).filter(seen);
  }
  const unit = x(1) - x(0);
  const step = Math.max(Math.ceil(BIN / unit), 1);
  const groups = d3.group(data.facts.filter(({ start, end }) => start === end), ({ start }) => Math.floor(start / step) * step);
  return [...groups].map(([first, facts]) => ({ facts, count: facts.length, first: d3.min(facts, ({ start }) => start), last: d3.max(facts, ({ start }) => start), from: x(first), to: x(first + step) })).filter(seen);
}

// The first and the last position that a lane has something at.
function extent({ total, facts, counts, first, last }) {
  if (total <= facts.length) return facts.flatMap(({ start, end }) => [start, end]);
  const step = (last - first + 1) / counts.length;
  return [first + counts.findIndex(Boolean) * step, first + (counts.findLastIndex(Boolean) + 1) * step - 1].map(Math.round);
}

// The places whose labels have room beside each other and beside that of the query.
function apart(places, x, here) {
  const [left, right] = x.range();
  const kept = [];
  for (const place of places) {
    const at = x(place);
    const free = at > left + 30 && at < right - 30 && (here === null || Math.abs(at - here) > ROOM);
    if (free && (!kept.length || at - x(kept.at(-1)) > ROOM)) kept.push(place);
  }
  return kept;
}
