// The ribbon: the probability of each class of predicates over time, in both directions. Recorded
// events are dots in the same colours. The query's day can be dragged.

import { get } from "./api.js";
import { el, put, set, soft, swatch } from "./dom.js";
import { clipped, dotsOf, keyTarget, layerOrder, nearestPlace } from "./ribbon_shape.js";
import { stacked, tonesOf, zoomed } from "./ribbon_shape.js";
import { counted, percent, shortened, shown } from "./wording.js";

const { d3 } = globalThis;
const [TITLE, BAND, DOTS, AXIS, SIDE, DOT] = [22, 84, 20, 24, 12, 5]; // pixels
const LETTER = 8; // maximum pixels per letter in a title
const HALF = TITLE + BAND + DOTS; // height of one direction
const MIDDLE = HALF + AXIS / 2;

export class Ribbon {
  // onDay(time, place, done): the day was moved; done: it was released. onSpan: the range has
  // changed. still: a static picture in which nothing can be moved.
  constructor(container, axis, { onDay, onSpan, still = false }) {
    this.still = still;
    this.container = container;
    this.axis = axis;
    this.onDay = onDay;
    this.onSpan = onSpan;
    this.tip = el("div", { class: "tip", hidden: true });
    new ResizeObserver(() => this.data && this.draw()).observe(container);
  }

  // Loads and draws a pair's ribbon. span: two positions, or anything else for the whole time span.
  // Until then, the pair's previous drawing remains usable, so the day may move in the meantime.
  async load({ subject, object, time }, { view, span }) {
    this.keepOnly({ subject, object });
    this.fetching?.abort();
    this.fetching = new AbortController();
    this.time = time;
    this.span = Array.isArray(span) ? clipped(span, this.whole()) : null;
    const [from, until] = (this.span ?? []).map((position) => this.axis.text(position));
    const asked = { subject, object, view, from, until };
    this.data = await get("/api/ribbon", asked, this.fetching.signal).catch((problem) => {
      if (problem.name !== "AbortError") this.clear();
      throw problem;
    });
    this.view = view;
    this.tones = tonesOf(this.data.layers);
    this.draw();
    return this.data;
  }

  // Discards the ribbon of another pair.
  keepOnly({ subject, object }) {
    const pair = JSON.stringify([subject, object]);
    if (pair !== this.pair) this.clear();
    this.pair = pair;
  }

  // Shows nothing and cancels loading.
  clear() {
    this.fetching?.abort();
    this.data = null;
    this.isTwoWay = false;
    this.container.replaceChildren();
  }

  // The whole time span that can be shown.
  /** @returns {[number, number]} */
  whole() {
    const { first_position: first, last_position: last, beyond } = this.axis;
    return [first, last + beyond];
  }

  // The index of the day among the data's times; null if the day has no position.
  placeOf(time) {
    const position = this.axis.position(time);
    if (position === null || !this.data) return null;
    return nearestPlace(this.data.positions, position);
  }

  draw() {
    const width = this.container.clientWidth;
    if (!width) return;
    const { positions, forward, backward } = this.data;
    const step = positions.length > 1 ? positions[1] - positions[0] : 1;
    this.x = d3
      .scaleLinear()
      .domain([positions[0], positions.at(-1) + step])
      .range([SIDE, width - SIDE]);
    // If nothing is known in the other direction, it is not shown.
    this.isTwoWay ||= forward.subject !== forward.object && backward.marks.length > 0;
    this.height = this.isTwoWay ? 2 * HALF + AXIS : HALF + AXIS;
    const { height } = this;
    this.container.style.minHeight = `${height}px`;
    const viewBox = `0 0 ${width} ${height}`;
    const svg = set(d3.create("svg"), { class: "ribbon", width, height, viewBox });
    put(svg, "rect", { class: "catch", width, height });
    this.drawDirection(svg, forward, -1);
    if (this.isTwoWay) this.drawDirection(svg, backward, 1);
    this.drawBeyond(svg, width);
    this.ticks = put(svg, "g", { class: "axis" });
    this.drawDay(svg);
    const focused = this.container.contains(document.activeElement);
    this.container.replaceChildren(svg.node(), this.tip);
    this.svg = svg;
    this.moveDay(this.time);
    if (!this.still) this.listen(svg);
    if (focused) this.handle.node().focus({ preventScroll: true });
  }

  // side: -1 above the axis, 1 below it
  drawDirection(svg, direction, side) {
    const { positions, layers, predicates } = this.data;
    const order = layerOrder(layers);
    const bounds = stacked(direction.shares, order);
    const floor = MIDDLE + side * (AXIS / 2 + DOTS);
    const y = (share) => floor + side * share * BAND;
    const step = positions.length > 1 ? positions[1] - positions[0] : 1;
    const area = d3
      .area()
      .x((_, place) => this.x(positions[place] + step / 2))
      .y0(([low]) => y(low))
      .y1(([, high]) => y(high))
      .curve(d3.curveMonotoneX);
    const group = put(svg, "g", { class: "direction" });
    for (const [place, layer] of order.entries()) {
      const layerPath = put(group, "path", { class: "layer", d: area(bounds[place]) });
      layerPath.style("--tone", `var(--${this.tones[layer]})`);
    }
    const dots = dotsOf(direction.marks, predicates, this.x, DOT);
    const columns = d3.group(dots, (dot) => dot.x);
    for (const column of columns.values()) {
      column.sort((a, b) => order.indexOf(a.layer) - order.indexOf(b.layer));
      for (const [row, dot] of column.slice(0, 4).entries()) {
        dot.y = MIDDLE + side * (AXIS / 2 + 3 + row * 4.6);
      }
    }
    const drawn = dots.filter((dot) => dot.y !== undefined);
    const circles = group.selectAll("circle").data(drawn).join("circle");
    circles.style("--tone", (dot) => `var(--${this.tones[dot.layer]})`);
    set(circles, {
      class: "dot",
      cx: (dot) => dot.x,
      cy: (dot) => dot.y,
      r: (dot) => Math.min(1.8 + 0.5 * Math.log2(dot.marks.length), 3.4),
    });
    const base = side < 0 ? TITLE - 9 : this.height - 8;
    const room = Math.floor((this.x.range()[1] - SIDE) / LETTER);
    const facts = counted(direction.marks.length, "fact");
    const title = `${shown(direction.subject)} → ${shown(direction.object)}`;
    put(group, "text", { class: "title", x: SIDE, y: base })
      .text(shortened(title, room - facts.length))
      .append("tspan")
      .attr("class", "count")
      .attr("dx", 8)
      .text(`\u200e${facts}`); // also correct after a right-to-left name
  }

  // Covers the time after the last fact, where only the past is known.
  drawBeyond(svg, width) {
    const from = this.x(this.axis.last_position + 1);
    if (this.axis.timeless || from > width - SIDE - 4) return;
    const beyond = put(svg, "g", { class: "beyond" });
    const band = BAND + DOTS; // does not cross the axis labels
    const bottom = this.height - TITLE;
    const size = { width: width - SIDE - from, height: this.isTwoWay ? bottom - TITLE : band };
    put(beyond, "rect", { x: from, y: TITLE, ...size });
    const below = this.isTwoWay ? `M${from} ${bottom}v${-band}` : "";
    put(beyond, "path", { d: `M${from} ${TITLE}v${band}${below}` });
    const { subject, object } = this.data.forward;
    const title = LETTER * `${shown(subject)} → ${shown(object)} · 1,000 facts`.length;
    if (width - SIDE - from > 20 && title + 20 * LETTER < width) {
      put(beyond, "text", { x: width - SIDE, y: TITLE - 9 }).text("after the last fact");
    }
  }

  // middle: the centre of the day's label, null if it is not shown; half: half its width
  drawTicks(middle, half) {
    const labels = this.axis.labels(this.x, middle, half);
    const texts = this.ticks.selectAll("text").data(labels).join("text");
    set(texts, { x: (label) => label.x, y: MIDDLE + 4 }).text(({ text }) => text);
  }

  drawDay(svg) {
    this.day = put(svg, "g", { class: "day" });
    const y2 = this.isTwoWay ? this.height - TITLE + 4 : MIDDLE;
    put(this.day, "line", { y1: TITLE - 4, y2 });
    this.handle = put(this.day, "g", {
      class: "handle",
      tabindex: this.still ? null : 0,
      role: "slider",
      "aria-label": `The ${this.axis.word} that is asked about`,
      "aria-orientation": "horizontal",
      "aria-valuemin": this.data.positions[0],
      "aria-valuemax": this.data.positions.at(-1),
    });
    put(this.handle, "rect", { y: MIDDLE - 12, height: 24, rx: 12 });
    put(this.handle, "text", { y: MIDDLE + 4 });
  }

  // Shows another day without triggering an event.
  moveDay(time) {
    this.time = time;
    const at = this.axis.position(time);
    const [left, right] = this.x.range();
    const x = at === null ? null : this.x(at + 0.5);
    const visible = x !== null && x >= left - 1 && x <= right + 1;
    const width = 16 + 7.4 * time.length;
    const middle = Math.min(Math.max(x, left + width / 2 - SIDE + 2), right - width / 2 + SIDE - 2);
    this.day.attr("display", visible ? null : "none");
    this.drawTicks(visible ? middle : null, width / 2);
    if (!visible) return;
    set(this.day.select("line"), { x1: x, x2: x });
    set(this.handle.select("rect"), { x: middle - width / 2, width });
    this.handle.select("text").attr("x", middle).text(time);
    const place = this.placeOf(time);
    const [number, share] = this.data.forward.first[place][0];
    const label = shown(this.data.predicates[number].label);
    const valuetext = `${time}: ${label}, ${percent(share)}`;
    set(this.handle, { "aria-valuenow": at, "aria-valuetext": valuetext });
  }

  listen(svg) {
    const tell = (time, done) => {
      this.moveDay(time);
      this.onDay(time, this.placeOf(time), done);
    };
    const timeAt = (x) => {
      const [first, last] = [this.data.positions[0], this.data.positions.at(-1)];
      const position = Math.floor(this.x.invert(x));
      return this.axis.text(Math.min(Math.max(position, first), last));
    };
    const drag = d3
      .drag()
      .container(svg.node())
      .clickDistance(0)
      .on("start drag", ({ x }) => {
        this.tip.hidden = true;
        const time = this.data && timeAt(x);
        if (time && time !== this.time) tell(time, false);
      })
      .on("end", () => this.data && tell(this.time, true));
    svg.call(drag).style("touch-action", "pan-y"); // moving a finger up or down scrolls
    const place = (event) => d3.pointer(event, svg.node())[0];
    svg.on("pointermove", (event) => !event.buttons && this.showTip(event, timeAt(place(event))));
    svg.on("pointerleave", () => (this.tip.hidden = true));
    this.handle.on("keydown", (event) => {
      const target = keyTarget(event, this.axis.position(this.time), this.data.positions);
      if (target === null) return;
      event.preventDefault();
      tell(this.axis.text(target), true);
    });
  }

  // The most probable predicates on the day under the pointer, and what happened on it.
  showTip(event, time) {
    const place = this.placeOf(time);
    const { forward, backward, predicates, positions } = this.data;
    const [x, y] = d3.pointer(event, this.svg.node());
    const direction = y < MIDDLE || !this.isTwoWay ? forward : backward;
    const line = (number, text) =>
      el(
        "p",
        { class: "tip-line" },
        swatch(this.tones[predicates[number].layer]),
        el("span", {}, shown(predicates[number].label)),
        el("b", {}, text),
      );
    const happened = direction.marks.filter(
      ({ start, end }) => start <= positions[place] && positions[place] <= end,
    );
    this.tip.replaceChildren(
      soft(`${time} · ${shown(direction.subject)} → ${shown(direction.object)}`),
      ...direction.first[place].slice(0, 3).map(([number, share]) => line(number, percent(share))),
      ...happened.slice(0, 3).map(({ predicate }) => line(predicate, "happened")),
    );
    this.tip.hidden = false;
    const widest = this.container.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(Math.min(x + 14, widest), 0)}px`;
    this.tip.style.top = `${y < MIDDLE ? y + 18 : y - this.tip.offsetHeight - 12}px`;
  }

  // Zooms around the last requested day; null: the whole time span.
  zoomBy(factor) {
    const whole = this.whole();
    const span = this.span ?? whole;
    const centre = this.axis.position(this.time) ?? (span[0] + span[1]) / 2;
    this.onSpan(factor === null ? null : zoomed(span, whole, centre, factor));
  }
}

// The classes with their colours and numbers of facts, in a list next to the ribbon.
export function showLegend(list, { layers, predicates, forward, backward }) {
  const tones = tonesOf(layers);
  const marks =
    forward.subject === forward.object ? forward.marks : [...forward.marks, ...backward.marks];
  const counts = d3.rollup(
    marks,
    (own) => own.length,
    (mark) => predicates[mark.predicate].layer,
  );
  list.replaceChildren(
    ...layerOrder(layers).map((layer) =>
      el(
        "li",
        { title: "Facts in the time that is shown" },
        swatch(tones[layer]),
        shown(layers[layer].name),
        el("b", {}, (counts.get(layer) ?? 0).toLocaleString("en")),
      ),
    ),
  );
}
