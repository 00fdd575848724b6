// The graph of a reason. Its layout comes from explain/layout.py and its look from explain/svg.py,
// so that page and file show the same. Here entities can be moved, and asked about.

import { el, isZoomGesture } from "./dom.js";
import { addPeriphery, pathOf, withRadius } from "./graph_layout.js";
import { drawLabel, drawNode } from "./graph_text.js";
import { shown } from "./wording.js";

const { d3 } = globalThis;
const READABLE = 1; // a drawing is not made smaller than this, but scrolls

export class Graph {
  constructor(container, { onAsk }) {
    this.container = container;
    this.onAsk = onAsk;
    this.scroller = el("div", { class: "scroller" });
    container.replaceChildren(this.scroller);
    document.addEventListener("pointerdown", (event) => {
      if (!this.menu?.contains(event.target)) this.closeMenu();
    });
  }

  get svg() {
    return this.scroller.querySelector("svg");
  }

  // facts: the cited facts of the drawing by their id; periphery: further facts, or none.
  draw(drawing, facts, periphery) {
    this.closeMenu();
    const nodes = drawing.nodes.map(withRadius);
    const edges = drawing.edges.map((edge) => ({ ...edge, cited: facts.get(edge.fact) }));
    const sheet = { left: 0, top: 0, right: drawing.width, bottom: drawing.height };
    addPeriphery(nodes, edges, periphery, sheet);
    const svg = createSheet(drawing, sheet);
    this.view = svg.append("g");
    this.drawEdges(edges, nodes);
    this.drawNodes(nodes, edges);
    this.drawLabels(edges);
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
    this.scroller.replaceChildren(svg.node());
    this.scrollToQuery(nodes, sheet);
  }

  drawEdges(edges, nodes) {
    this.lines = this.view
      .selectAll("path.edge")
      .data(edges)
      .join("path")
      .attr("class", (edge) => `edge ${edge.kind}`)
      .attr("marker-end", "url(#apptek-head)");
    this.lines
      .append("title")
      .text((edge) =>
        [nodes[edge.source].name, edge.predicate, nodes[edge.target].name, edge.date]
          .map(shown)
          .join(" | "),
      );
  }

  drawNodes(nodes, edges) {
    this.nodes = this.view
      .selectAll("g.node")
      .data(nodes)
      .join("g")
      .attr("class", (node) => `node ${roleClass(node)}`)
      .attr("tabindex", 0)
      .attr("role", "button")
      .attr("aria-haspopup", "menu")
      .attr("aria-label", (node) => shown(node.about ?? `${node.name} (${node.role})`));
    this.nodes.each((node, index, groups) =>
      drawNode(d3.select(groups[index]), node, nodes, edges),
    );
  }

  drawLabels(edges) {
    this.labels = this.view
      .selectAll("g.label")
      .data(edges.filter((edge) => edge.kind !== "bystander"))
      .join("g")
      .attr("class", (edge) => (edge.kind === "question" ? "label question-label" : "label"));
    this.labels.each((edge, index, groups) => drawLabel(d3.select(groups[index]), edge));
  }

  // Puts subject and object in the middle if both fit, else the subject at the left.
  scrollToQuery(nodes, sheet) {
    const scale = this.svg.clientWidth / (sheet.right - sheet.left);
    const [subject, object] = ["subject", "object"].map((role) => {
      const node = nodes.find((candidate) => candidate.role === role) ?? nodes[0];
      return (node.x - sheet.left) * scale;
    });
    const room = this.scroller.clientWidth;
    const fits = object - subject + 60 < room;
    this.scroller.scrollLeft = fits ? (subject + object - room) / 2 : subject - room / 3;
  }

  // Shows the whole drawing however small, or in readable size again.
  fit(whole) {
    if (!this.svg) return;
    this.zoomBy(null);
    this.svg.classList.toggle("whole", whole);
  }

  empty(message) {
    this.closeMenu();
    this.scroller.replaceChildren(el("p", { class: "empty" }, message));
  }

  // Dims what is further from the query in time than `limit`; null: dims nothing.
  within(limit) {
    if (!this.svg) return;
    const far = ({ kind, cited }) => kind !== "question" && isFar(cited, limit);
    this.lines.classed("far", far);
    this.labels.classed("far", far);
    const nearEdges = this.lines.filter((edge) => !far(edge)).data();
    const near = new Set(nearEdges.flatMap((edge) => [edge.source, edge.target]));
    this.nodes.classed("far", (node) => !near.has(node.id));
  }

  move(nodes) {
    this.nodes.attr("transform", (node) => `translate(${node.dx},${node.dy})`);
    this.lines.attr("d", (edge) => pathOf(edge, nodes[edge.source], nodes[edge.target]));
    this.labels.attr("transform", (edge) => {
      const [source, target] = [nodes[edge.source], nodes[edge.target]];
      return `translate(${(source.dx + target.dx) / 2},${(source.dy + target.dy) / 2})`;
    });
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
    const transition = d3.select(this.svg).transition().duration(150);
    if (factor) transition.call(this.zoom.scaleBy, factor);
    else transition.call(this.zoom.transform, d3.zoomIdentity);
  }

  openMenu(element, node) {
    this.closeMenu();
    const choose = (role) => {
      this.closeMenu();
      this.onAsk(role, node.name);
    };
    const item = (label, role) =>
      el("button", { type: "button", role: "menuitem", onclick: () => choose(role) }, label);
    this.menu = el(
      "div",
      { class: "menu", role: "menu", onkeydown: (event) => this.handleMenuKey(event, element) },
      el("p", {}, shown(node.name)),
      item("Make it the subject", "subject"),
      item("Make it the object", "object"),
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

const roleClass = ({ role }) => (role === "periphery" ? "bystander periphery" : role);

// The empty SVG of a drawing, with the arrow head that its edges end in.
function createSheet(drawing, sheet) {
  const [width, height] = [sheet.right - sheet.left, sheet.bottom - sheet.top];
  const svg = d3
    .create("svg")
    .attr("class", "apptek")
    .attr("viewBox", `${sheet.left} ${sheet.top} ${width} ${height}`)
    .attr("role", "group")
    .attr("aria-label", `Graph of reason ${drawing.number}: ${shown(drawing.title)}`);
  svg.style("min-width", `${width * READABLE}px`).style("max-width", `${width * 1.25}px`);
  svg.append("title").text(shown(drawing.title));
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
  svg
    .append("rect")
    .attr("class", "sheet")
    .attr("x", sheet.left)
    .attr("y", sheet.top)
    .attr("width", width)
    .attr("height", height);
  return svg;
}
