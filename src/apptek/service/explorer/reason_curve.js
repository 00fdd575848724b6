// The curve of a reason: what a single such fact would add, by its distance in time.

import { el } from "./dom.js";
import { signed } from "./wording.js";

const { d3 } = globalThis;
const [WIDTH, HEIGHT, SIDE] = [360, 74, 6];

// Days near the query have as much room as months far from it.
const sign = (value) => Math.sign(value) * Math.sqrt(Math.abs(value));

export function curveFigure(curve) {
  const points = curve.toSorted((a, b) => a.distance - b.distance);
  const values = points.map(({ log_odds: value }) => value);
  const x = d3
    .scaleLinear()
    .domain(d3.extent(points, ({ distance }) => sign(distance)))
    .range([SIDE, WIDTH - SIDE]);
  const y = d3
    .scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values, 1e-9)])
    .range([HEIGHT - 16, 8]);
  const at = ({ distance }) => x(sign(distance));
  const svg = d3
    .create("svg")
    .attr("class", "reason-curve")
    .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
    .attr("role", "img")
    .attr(
      "aria-label",
      points.map(({ apart, log_odds: v }) => `${apart}: ${signed(v)}`).join("; "),
    );
  const area = d3
    .area()
    .x(at)
    .y0(y(0))
    .y1((point) => y(point.log_odds))
    .curve(d3.curveMonotoneX);
  svg.append("path").attr("class", "under").attr("d", area(points));
  svg
    .append("line")
    .attr("class", "zero")
    .attr("x1", SIDE)
    .attr("x2", WIDTH - SIDE)
    .attr("y1", y(0))
    .attr("y2", y(0));
  svg.append("path").attr("class", "over").attr("d", area.lineY1()(points));
  svg
    .selectAll("circle")
    .data(points)
    .join("circle")
    .attr("cx", at)
    .attr("cy", (point) => y(point.log_odds))
    .attr("r", 3)
    .append("title")
    .text(({ apart, log_odds: value }) => `${apart}: ${signed(value)}`);
  const ends = [points[0], points.at(-1)];
  return el(
    "figure",
    { class: "curve-figure" },
    el("p", { class: "soft" }, "What a single such fact would add, by its distance in time"),
    svg.node(),
    el("figcaption", { class: "soft" }, ...ends.map(({ apart }) => el("span", {}, apart))),
  );
}
