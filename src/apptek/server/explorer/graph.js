// The graph of an answer. Its layout comes from present/drawing.py and its style from
// present/templates, so that page and file look the same. Here, users can ask about entities.

import { button, byId, el, put, set } from "./dom.js";
import { shown, timely } from "./wording.js";

const { d3 } = globalThis;
const PAUSE = 200; // milliseconds without another change in width
const ROLES = { meeting: "both interact with it", bystander: "only one of them interacts with it" };

export class Graph {
  // onAsk(role, name): ask about an entity; onResize: a drawing with another width is needed.
  constructor(container, { onAsk, onResize }) {
    this.container = container;
    this.onAsk = onAsk;
    this.scroller = el("div", { class: "scroller" });
    container.replaceChildren(this.scroller);
    new ResizeObserver(() => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.isUnfit() && onResize(), PAUSE);
    }).observe(container);
  }

  // The width at which a drawing fills its card.
  get width() {
    return Math.max(Math.floor(this.scroller.clientWidth) - 16, 240);
  }

  // Whether the drawing would be shown much larger or smaller than intended.
  isUnfit() {
    return Boolean(this.svg && this.scroller.clientWidth) && Math.abs(this.width - this.drawn) > 60;
  }

  get svg() {
    return this.scroller.querySelector("svg");
  }

  // The drawing of an answer, at the requested width.
  draw(drawing) {
    const { activeElement: focused } = document;
    const name = this.scroller.contains(focused) ? d3.select(focused).datum()?.name : null;
    this.empty("");
    this.drawn = this.width;
    const { nodes, edges } = drawing;
    const svg = createSheet(drawing);
    this.view = svg.append("g");
    this.drawEdges(edges, nodes);
    this.drawNodes(nodes);
    this.writeLabels(edges.filter(({ pill }) => pill));
    writeTexts(this.view.append("g").datum(drawing));
    this.listen();
    this.scroller.replaceChildren(svg.node());
    const again = this.nodes.filter((node) => node.name === name).node();
    again?.focus({ preventScroll: true });
  }

  drawEdges(edges, nodes) {
    this.lines = this.view.selectAll("path.edge").data(edges).join("path");
    set(this.lines, {
      class: ({ kind, tone }) => `edge ${kind} ${tone}`.trim(),
      "stroke-width": ({ thickness }) => thickness,
      "marker-end": "url(#apptek-head)",
      d: ({ curve }) => pathOf(curve.map((number) => number.toFixed(1))),
    });
    this.lines.append("title").text((edge) => titleOf(edge, nodes));
  }

  drawNodes(nodes) {
    this.nodes = this.view.selectAll("g.node").data(nodes).join("g");
    set(this.nodes, {
      class: ({ role }) => `node ${role}`,
      tabindex: 0,
      role: "button",
      "aria-haspopup": "dialog",
      "aria-label": ({ name, role }) => shown(`${name} (${ROLES[role] ?? role})`),
    });
    this.nodes.append("title").text(({ name }) => shown(name));
    put(this.nodes, "circle", { cx: ({ x }) => x, cy: ({ y }) => y, r: ({ radius }) => radius });
    writeTexts(this.nodes);
  }

  writeLabels(edges) {
    this.labels = this.view.selectAll("g.label").data(edges).join("g");
    this.labels.attr("class", ({ kind, tone }) =>
      kind === "question" ? `label question-label ${tone}`.trim() : `label ${tone}`.trim(),
    );
    put(this.labels, "rect", {
      class: "pill",
      x: ({ pill }) => pill[0],
      y: ({ pill }) => pill[1],
      width: ({ pill }) => pill[2],
      height: ({ pill }) => pill[3],
      rx: 8,
    });
    writeTexts(this.labels);
  }

  // The drawing of an explanation; null if there is none.
  show(explanation) {
    const isDrawn = Boolean(explanation?.drawing.edges.some(({ kind }) => kind !== "question"));
    if (isDrawn) this.draw(explanation.drawing);
    else if (explanation) this.empty(`No facts connect them${timely(" around that time")}.`);
    else this.empty("There is no explanation to draw.");
    byId("save").disabled = !isDrawn;
  }

  empty(message) {
    this.scroller.replaceChildren(el("p", { class: "empty" }, message));
  }

  // Highlights the facts of some reasons and dims the rest; null: no highlighting.
  light(numbers) {
    if (!this.svg) return;
    const isLit = ({ reasons }) => !numbers || reasons.some((one) => numbers.includes(one));
    const isDim = (edge) => edge.kind !== "question" && !isLit(edge);
    this.lines.classed("dim", isDim);
    this.labels.classed("dim", isDim);
    const wanted = this.lines.filter((edge) => !isDim(edge)).data();
    const near = new Set(wanted.flatMap((edge) => [edge.source, edge.target]));
    this.nodes.classed("dim", (node) => !near.has(node.id));
  }

  listen() {
    this.nodes
      .on("click", (event, node) => this.openMenu(event.currentTarget, node))
      .on("keydown", (event, node) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.openMenu(event.currentTarget, node);
      });
  }

  // The menu for an entity. The browser closes it and restores the focus.
  openMenu(element, node) {
    const item = (label, action) =>
      button(label, () => {
        menu.hidePopover();
        action();
      });
    const menu = el(
      "div",
      { class: "menu", popover: "auto", "aria-label": shown(node.name), ontoggle: removeClosed },
      el("p", {}, shown(node.name)),
      item("Make it the subject", () => this.onAsk("subject", node.name)),
      item("Make it the object", () => this.onAsk("object", node.name)),
    );
    this.container.append(menu);
    menu.showPopover();
    const circle = element.querySelector("circle").getBoundingClientRect();
    const widest = innerWidth - menu.offsetWidth - 8;
    menu.style.left = `${Math.max(Math.min(circle.left, widest), 0)}px`;
    menu.style.top = `${Math.min(circle.bottom + 6, innerHeight - menu.offsetHeight)}px`;
    menu.querySelector("button").focus();
  }
}

const removeClosed = ({ newState, target }) => newState === "closed" && target.remove();

// The texts of nodes or labels, at the positions set by the service.
function writeTexts(groups) {
  const texts = groups
    .selectAll("text")
    .data((part) => part.texts)
    .join("text");
  set(texts, {
    class: ({ kind, anchor }) => `${kind} at-${anchor}`.trim(),
    x: ({ x }) => x,
    y: ({ y }) => y,
  });
  texts.text(({ words }) => words);
}

const pathOf = ([x, y, ...others]) => `M${x} ${y}Q${others.join(" ")}`;

const titleOf = (edge, nodes) =>
  [nodes[edge.source].name, edge.predicate, nodes[edge.target].name, edge.date]
    .map(shown)
    .join(" | ");

// The empty SVG of a drawing, with the arrowhead for its edges.
function createSheet({ width, height, title }) {
  const svg = set(d3.create("svg"), {
    class: "apptek",
    viewBox: `0 0 ${width} ${height}`,
    "data-width": width,
    role: "group",
    "aria-label": `Graph of the answer: ${shown(title)}`,
  });
  svg.append("title").text(shown(title));
  const marker = put(svg.append("defs"), "marker", {
    id: "apptek-head",
    viewBox: "0 0 8 8",
    refX: 18,
    refY: 4,
    markerWidth: 7,
    markerHeight: 7,
    markerUnits: "userSpaceOnUse",
    orient: "auto",
  });
  put(marker, "path", { class: "head", d: "M0 0 8 4 0 8z" });
  put(svg, "rect", { class: "sheet", width, height });
  return svg;
}
