// The graph of an answer. Its layout comes from explain/drawing/answer_layout.py and its look from
// explain/drawing/svg.py, so that page and file show the same. Here entities can be moved, and asked about.

import { el, isZoomGesture } from "./dom.js";
import { shown, timely } from "./wording.js";

const { d3 } = globalThis;
const PAUSE = 200; // milliseconds without another change of the width
const ROLES = { meeting: "both deal with it", bystander: "one of them deals with it" };

export class Graph {
  // onAsk(role, name): ask about an entity; onExpand(name): draw its own facts, or no longer;
  // expanded(): the names of those that are; onResize: a drawing of another width is needed.
  constructor(container, { onAsk, onExpand, expanded, onResize }) {
    this.onExpand = onExpand;
    this.expanded = expanded;
    this.container = container;
    this.onAsk = onAsk;
    this.scroller = el("div", { class: "scroller" });
    container.replaceChildren(this.scroller);
    new ResizeObserver(() => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.isUnfit() && onResize(), PAUSE);
    }).observe(container);
    document.addEventListener("pointerdown", (event) => {
      if (!this.menu?.contains(event.target)) this.closeMenu();
    });
  }

  // The width that a drawing should have to fill its card.
  get width() {
    return Math.max(Math.floor(this.scroller.clientWidth) - 16, 240);
  }

  // Whether what is drawn would be shown much larger or smaller than it was made for.
  isUnfit() {
    return Boolean(this.svg && this.scroller.clientWidth) && Math.abs(this.width - this.drawn) > 60;
  }

  get svg() {
    return this.scroller.querySelector("svg");
  }

  // The drawing of an answer, at the width that it was asked for.
  draw(drawing) {
    this.closeMenu();
    this.drawn = this.width;
    const nodes = drawing.nodes.map((node) => ({ ...node, dx: 0, dy: 0 }));
    const svg = createSheet(drawing);
    this.view = svg.append("g");
    this.drawEdges(drawing.edges, nodes);
    this.drawNodes(nodes);
    this.labels = this.writeLabels(drawing.edges.filter(({ pill, room }) => pill && room));
    this.drawGrips(
      drawing.edges.filter(({ pill, room }) => pill && !room),
      nodes,
    );
    if (drawing.note) {
      svg
        .append("text")
        .attr("class", "note")
        .attr("x", drawing.width / 2)
        .attr("y", drawing.height - 8)
        .text(drawing.note);
    }
    this.move(nodes);
    this.listen(svg, nodes);
    const { activeElement: focused } = document;
    const name = this.scroller.contains(focused) ? d3.select(focused).datum()?.name : null;
    this.scroller.replaceChildren(svg.node());
    const again = this.nodes.filter((node) => node.name === name).node();
    again?.focus({ preventScroll: true });
  }

  drawEdges(edges, nodes) {
    this.lines = this.view
      .selectAll("path.edge")
      .data(edges)
      .join("path")
      .attr("class", (edge) => `edge ${edge.kind} ${edge.tone}`)
      .attr("stroke-width", (edge) => edge.thickness)
      .attr("marker-end", "url(#apptek-head)");
    this.lines.append("title").text((edge) => titleOf(edge, nodes));
  }

  drawNodes(nodes) {
    this.nodes = this.view
      .selectAll("g.node")
      .data(nodes)
      .join("g")
      .attr("class", (node) => `node ${node.role} ${node.side}`)
      .attr("tabindex", 0)
      .attr("role", "button")
      .attr("aria-haspopup", "menu")
      .attr("aria-label", (node) => shown(`${node.name} (${ROLES[node.role] ?? node.role})`));
    this.nodes.append("title").text((node) => shown(node.name));
    this.nodes
      .append("circle")
      .attr("cx", (node) => node.x)
      .attr("cy", (node) => node.y)
      .attr("r", (node) => node.radius);
    writeTexts(this.nodes);
  }

  writeLabels(edges) {
    const labels = this.view
      .selectAll("g.new-label")
      .data(edges)
      .join("g")
      .attr("class", ({ kind, tone }) =>
        kind === "question" ? `label question-label ${tone}` : `label ${tone}`,
      );
    labels
      .append("rect")
      .attr("class", "pill")
      .attr("x", ({ pill }) => pill[0])
      .attr("y", ({ pill }) => pill[1])
      .attr("width", ({ pill }) => pill[2])
      .attr("height", ({ pill }) => pill[3])
      .attr("rx", 8);
    writeTexts(labels);
    return labels;
  }

  // Labels without a free place are shown while their line is pointed at or has the focus.
  drawGrips(edges, nodes) {
    const show = (edge) => {
      this.spoken?.remove();
      this.spoken = this.writeLabels([edge]).classed("spoken", true).attr("transform", middle);
    };
    const middle = (edge) => labelShift(nodes[edge.source], nodes[edge.target]);
    const hide = () => this.spoken?.remove();
    this.grips = this.view
      .selectAll("path.grip")
      .data(edges)
      .join((enter) => enter.insert("path", "g.node"))
      .attr("class", "grip")
      .attr("tabindex", 0)
      .attr("role", "img")
      .attr("aria-label", (edge) => titleOf(edge, nodes))
      .on("pointerenter focus", (_, edge) => show(edge))
      .on("pointerleave blur", hide);
  }

  empty(message) {
    this.closeMenu();
    this.scroller.replaceChildren(el("p", { class: "empty" }, message));
  }

  // Dims what is further from the query in time than `limit`; null: dims nothing.
  within(limit) {
    this.mark("far", ({ distance }) => !isFar({ distance }, limit));
  }

  // Lights the facts of some reasons and dims the rest; null: all are alike.
  light(numbers) {
    this.mark("dim", ({ reasons }) => !numbers || reasons.some((one) => numbers.includes(one)));
  }

  // Gives a class to all that does not belong to what is wanted.
  mark(name, isWanted) {
    if (!this.svg) return;
    const other = (edge) => edge.kind !== "question" && !isWanted(edge);
    this.lines.classed(name, other);
    this.labels.classed(name, other);
    const wanted = this.lines.filter((edge) => !other(edge)).data();
    const near = new Set(wanted.flatMap((edge) => [edge.source, edge.target]));
    this.nodes.classed(name, (node) => !near.has(node.id));
  }

  move(nodes) {
    this.nodes.attr("transform", (node) => `translate(${node.dx},${node.dy})`);
    for (const paths of [this.lines, this.grips]) {
      paths.attr("d", (edge) => pathOf(edge, nodes[edge.source], nodes[edge.target]));
    }
    this.labels.attr("transform", (edge) => labelShift(nodes[edge.source], nodes[edge.target]));
  }

  listen(svg, nodes) {
    this.zoom = d3
      .zoom()
      .scaleExtent([0.5, 5])
      .filter(isZoomGesture)
      .on("zoom", ({ transform }) => this.view.attr("transform", transform));
    svg.call(this.zoom).on("dblclick.zoom", null);
    this.nodes.call(
      d3.drag().on("drag", (event, node) => {
        node.dx += event.dx;
        node.dy += event.dy;
        this.move(nodes);
      }),
    );
    this.nodes
      .on("click", (event, node) => this.openMenu(event.currentTarget, node))
      .on("keydown", (event, node) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.openMenu(event.currentTarget, node);
      });
  }

  // null: back to the original size
  zoomBy(factor) {
    if (!this.svg) return;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const transition = d3
      .select(this.svg)
      .transition()
      .duration(isStill ? 0 : 150);
    if (factor) transition.call(this.zoom.scaleBy, factor);
    else transition.call(this.zoom.transform, d3.zoomIdentity);
  }

  openMenu(element, node) {
    this.closeMenu();
    const item = (label, action) => {
      const choose = () => {
        this.closeMenu();
        element.focus({ preventScroll: true });
        action();
      };
      return el("button", { type: "button", role: "menuitem", onclick: choose }, label);
    };
    const words = this.expanded().includes(node.name)
      ? "Hide its own facts again"
      : `Draw its own facts${timely(" nearest in time")}`;
    this.menu = el(
      "div",
      { class: "menu", role: "menu", onkeydown: (event) => this.handleMenuKey(event, element) },
      el("p", {}, shown(node.name)),
      item("Make it the subject", () => this.onAsk("subject", node.name)),
      item("Make it the object", () => this.onAsk("object", node.name)),
      item(words, () => this.onExpand(node.name)),
    );
    this.container.append(this.menu);
    const circle = element.querySelector("circle").getBoundingClientRect();
    const frame = this.container.getBoundingClientRect();
    const widest = frame.width - this.menu.offsetWidth;
    this.menu.style.left = `${Math.min(Math.max(circle.left - frame.left, 0), widest)}px`;
    this.menu.style.top = `${circle.bottom - frame.top + 6}px`;
    this.menu.querySelector("button").focus();
  }

  handleMenuKey(event, element) {
    const items = [...this.menu.querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      this.closeMenu();
      element.focus();
    }
  }

  closeMenu() {
    this.menu?.remove();
    this.menu = null;
  }
}

export const isFar = (fact, limit) =>
  limit !== null && (fact?.distance == null || Math.abs(fact.distance) > limit);

// The texts of nodes or labels, where the service has placed them.
function writeTexts(groups) {
  groups
    .selectAll("text")
    .data(({ texts }) => texts)
    .join("text")
    .attr("class", ({ kind, anchor }) => `${kind} at-${anchor}`.trim())
    .attr("x", ({ x }) => x)
    .attr("y", ({ y }) => y)
    .text(({ words }) => words);
}

const titleOf = (edge, nodes) =>
  [nodes[edge.source].name, edge.predicate, nodes[edge.target].name, edge.date]
    .map(shown)
    .join(" | ");

const labelShift = (source, target) =>
  `translate(${(source.dx + target.dx) / 2},${(source.dy + target.dy) / 2})`;

// The path of an edge. Each of its points moves with the two nodes as they are dragged.
function pathOf({ curve }, source, target) {
  const mix = (share, key) => source[key] * (1 - share) + target[key] * share;
  const [a, b, c, d] = [0, 0.3, 0.7, 1].map((share, index) =>
    [curve[2 * index] + mix(share, "dx"), curve[2 * index + 1] + mix(share, "dy")]
      .map((value) => value.toFixed(1))
      .join(" "),
  );
  return `M${a}C${b} ${c} ${d}`;
}

// The empty SVG of a drawing, with the arrow head that its edges end in.
function createSheet({ width, height, title }) {
  const svg = d3
    .create("svg")
    .attr("class", "apptek")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("data-width", width)
    .attr("role", "group")
    .attr("aria-label", `Graph of the answer: ${shown(title)}`);
  svg.append("title").text(shown(title));
  svg
    .append("defs")
    .append("marker")
    .attr("id", "apptek-head")
    .attr("viewBox", "0 0 8 8")
    .attr("refX", 5)
    .attr("refY", 4)
    .attr("markerWidth", 7)
    .attr("markerHeight", 7)
    .attr("markerUnits", "userSpaceOnUse")
    .attr("orient", "auto")
    .append("path")
    .attr("class", "head")
    .attr("d", "M0 0 8 4 0 8z");
  svg.append("rect").attr("class", "sheet").attr("width", width).attr("height", height);
  return svg;
}
