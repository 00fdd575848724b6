// How much happened: counts by group over time, as stacked bars.

import { el, put, set, swatch } from "./dom.js";
import { layerOrder, tonesOf } from "./ribbon_shape.js";
import { counted, shown } from "./wording.js";

const { d3 } = globalThis;
const [HEIGHT, TOP, AXIS, SIDE] = [120, 16, 22, 10]; // pixels

export class CountCharts {
  constructor(container, axis) {
    this.axis = axis;
    this.charts = [];
    new ResizeObserver(() => this.draw()).observe(container);
  }

  // One card per chart, all with the same scale. charts: title and counts (layer by part); span:
  // the names of the layers, and the first and last position
  cards(charts, { layers, first, last }) {
    const named = layers.map((name) => ({ name }));
    const [tones, order] = [tonesOf(named), layerOrder(named)];
    const sums = charts.flatMap(({ counts }) => d3.transpose(counts).map((part) => d3.sum(part)));
    const shared = { order, tones, most: Math.max(...sums, 1), first, last };
    this.charts = charts.map((chart) => ({
      ...chart,
      ...shared,
      frame: el("div", { class: "counts-frame" }),
    }));
    return this.charts.map(({ title, counts, frame }) => {
      const present = order.filter((layer) => d3.sum(counts[layer]));
      const totals = present.map((layer) => {
        const total = el("b", {}, d3.sum(counts[layer]).toLocaleString("en"));
        return el("li", {}, swatch(tones[layer]), `${shown(layers[layer])} `, total);
      });
      const legend = el("ul", { class: "legend" }, ...totals);
      return el("section", { class: "card counts" }, el("h2", {}, title), legend, frame);
    });
  }

  draw() {
    for (const chart of this.charts) if (chart.frame.clientWidth) drawCounts(chart, this.axis);
  }
}

function drawCounts({ frame, counts, order, tones, most, first, last }, axis) {
  const width = frame.clientWidth;
  const x = d3
    .scaleLinear()
    .domain([first, last + 1])
    .range([SIDE, width - SIDE]);
  const y = d3.scaleLinear().domain([0, most]).range([HEIGHT, TOP]);
  const svg = set(d3.create("svg"), { class: "timeline", width, height: HEIGHT + AXIS });
  const step = (last - first + 1) / counts[0].length;
  const bases = counts[0].map(() => 0);
  for (const layer of order) {
    const bars = counts[layer].map((count, part) => {
      bases[part] += count;
      return { part, count, top: bases[part] };
    });
    const kept = bars.filter(({ count }) => count);
    const rects = put(svg, "g", {}).selectAll("rect").data(kept).join("rect");
    rects.style("fill", `var(--${tones[layer]})`);
    set(rects, {
      x: ({ part }) => x(first + part * step),
      width: Math.max(x(first + step) - x(first) - 1, 1),
      y: ({ top }) => y(top),
      height: ({ count }) => y(0) - y(count),
    });
  }
  put(svg, "line", { class: "floor", x1: SIDE, x2: width - SIDE, y1: HEIGHT, y2: HEIGHT });
  const bar = `${counted(most, "fact")} in ${counted(Math.max(Math.round(step), 1), axis.word)}`;
  put(svg, "text", { class: "count", x: SIDE, y: 10 }).text(`highest bar: ${bar}`);
  for (const label of axis.labels(x, null, 0)) {
    put(svg, "text", { class: "axis", x: label.x, y: HEIGHT + AXIS - 5 }).text(label.text);
  }
  frame.replaceChildren(svg.node());
}
