// A reason's graph. The layout is that of explain/layout.py, the look that of explain/svg.py:
// page and file show the same. Here entities can be moved, and asked about.

import { el } from "./dom.js";
import { shortened, shown } from "./wording.js";

const d3 = globalThis.d3;
const LETTER = 6.6;
const [NAME_LINE, NAME_LINES, SIDE_NAME] = [16, 3, 36];
const READABLE = 1; // a drawing is not made smaller than this, but scrolls
const RADII = { bystander: 7, periphery: 5 };
const OUTWARD = { subject: -1, object: 1 }; // where a periphery is listed, seen from its query entity
const [ASIDE, BELOW, ROW, TEXT] = [64, 76, 30, 250]; // of that list: its place, its rows and their width

export class Graph {
  constructor(place, { onAsk }) {
    this.place = place;
    this.onAsk = onAsk;
    this.scroller = el("div", { class: "scroller" });
    place.replaceChildren(this.scroller);
    document.addEventListener("pointerdown", (event) => this.menu?.contains(event.target) || this.closeMenu());
  }

  get svg() {
    return this.scroller.querySelector("svg");
  }

  // facts: the cited facts of the drawing by their id; periphery: further facts, or none.
  draw(drawing, facts, periphery) {
    this.closeMenu();
    const nodes = drawing.nodes.map((node) => ({ ...node, dx: 0, dy: 0, radius: RADII[node.role] ?? 12 }));
    const edges = drawing.edges.map((edge) => ({ ...edge, cited: facts.get(edge.fact) }));
    const sheet = { left: 0, top: 0, right: drawing.width, bottom: drawing.height };
    addPeriphery(nodes, edges, periphery, sheet);
    const [width, height] = [sheet.right - sheet.left, sheet.bottom - sheet.top];
    const svg = d3.create("svg").attr("class", "apptek").attr("viewBox", `${sheet.left} ${sheet.top} ${width} ${height}`)
      .attr("role", "group").attr("aria-label", `Graph of reason ${drawing.number}: ${shown(drawing.title)}`);
    svg.style("min-width", `${width * READABLE}px`).style("max-width", `${width * 1.25}px`);
    svg.append("title").text(shown(drawing.title));
    svg.append("defs").append("marker").attr("id", "apptek-head").attr("viewBox", "0 0 8 8").attr("refX", 5).attr("refY", 4)
      .attr("markerWidth", 7).attr("markerHeight", 7).attr("markerUnits", "userSpaceOnUse").attr("orient", "auto")
      .append("path").attr("class", "head").attr("d", "M0 0 8 4 0 8z");
    svg.append("rect").attr("class", "sheet").attr("x", sheet.left).attr("y", sheet.top).attr("width", width).attr("height", height);
    this.view = svg.append("g");
    this.lines = this.view.selectAll("path.edge").data(edges).join("path").attr("class", (edge) => `edge ${edge.kind}`).attr("marker-end", "url(#apptek-head)");
    this.lines.append("title").text((edge) => [nodes[edge.source].name, edge.predicate, nodes[edge.target].name, edge.date].map(shown).join(" | "));
    this.nodes = this.view.selectAll("g.node").data(nodes).join("g").attr("class", (node) => `node ${node.role === "periphery" ? "bystander periphery" : node.role}`)
      .attr("tabindex", 0).attr("role", "button").attr("aria-haspopup", "menu").attr("aria-label", (node) => shown(node.about ?? `${node.name} (${node.role})`));
    this.nodes.each(function (node) { drawNode(d3.select(this), node, nodes, edges); });
    this.labels = this.view.selectAll("g.label").data(edges.filter((edge) => edge.kind !== "bystander")).join("g")
      .attr("class", (edge) => (edge.kind === "question" ? "label question-label" : "label"));
    this.labels.each(function (edge) { drawLabel(d3.select(this), edge); });
    if (drawing.note) svg.append("text").attr("class", "note").attr("x", drawing.width / 2).attr("y", drawing.height - 8).text(drawing.note);
    this.move(nodes);
    this.listen(svg, nodes);
    this.scroller.replaceChildren(svg.node());
    this.scrollToQuery(nodes, sheet);
  }

  // Both query entities in the middle where there is room for them, else the subject at the left.
  scrollToQuery(nodes, sheet) {
    const scale = this.svg.clientWidth / (sheet.right - sheet.left);
    const [one, other] = ["subject", "object"].map((role) => ((nodes.find((node) => node.role === role) ?? nodes[0]).x - sheet.left) * scale);
    const room = this.scroller.clientWidth;
    this.scroller.scrollLeft = other - one + 60 < room ? (one + other - room) / 2 : one - room / 3;
  }

  // The whole drawing however small, or readable again.
  fit(whole) {
    if (!this.svg) return;
    this.zoomBy(null);
    this.svg.classList.toggle("whole", whole);
  }

  empty(words) {
    this.closeMenu();
    this.scroller.replaceChildren(el("p", { class: "empty" }, words));
  }

  // Dims what is further from the query than `limit`; null: nothing.
  within(limit) {
    if (!this.svg) return;
    const far = ({ kind, cited }) => kind !== "question" && isFar(cited, limit);
    this.lines.classed("far", far);
    this.labels.classed("far", far);
    const near = new Set(this.lines.filter((edge) => !far(edge)).data().flatMap((edge) => [edge.source, edge.target]));
    this.nodes.classed("far", (node) => !near.has(node.id));
  }

  move(nodes) {
    this.nodes.attr("transform", (node) => `translate(${node.dx},${node.dy})`);
    this.lines.attr("d", (edge) => pathOf(edge, nodes[edge.source], nodes[edge.target]));
    this.labels.attr("transform", ({ source, target }) => `translate(${(nodes[source].dx + nodes[target].dx) / 2},${(nodes[source].dy + nodes[target].dy) / 2})`);
  }

  listen(svg, nodes) {
    const [view, graph] = [this.view, this];
    this.zoom = d3.zoom().scaleExtent([0.5, 5])
      .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.touches ? event.touches.length > 1 : !event.button))
      .on("zoom", ({ transform }) => view.attr("transform", transform));
    svg.call(this.zoom).on("dblclick.zoom", null);
    this.nodes.call(d3.drag().on("drag", (event, node) => {
      node.dx += event.dx;
      node.dy += event.dy;
      graph.move(nodes);
    }));
    this.nodes.on("click", (event, node) => graph.openMenu(event.currentTarget, node))
      .on("keydown", (event, node) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        graph.openMenu(event.currentTarget, node);
      });
  }

  zoomBy(factor) {
    if (this.svg) d3.select(this.svg).transition().duration(150).call(factor ? this.zoom.scaleBy : this.zoom.transform, factor || d3.zoomIdentity);
  }

  openMenu(element, node) {
    this.closeMenu();
    const item = (words, role) => el("button", { type: "button", role: "menuitem", onclick: () => { this.closeMenu(); this.onAsk(role, node.name); } }, words);
    this.menu = el("div", { class: "menu", role: "menu", onkeydown: (event) => this.menuKey(event, element) },
      el("p", {}, shown(node.name)), item("Make it the subject", "subject"), item("Make it the object", "object"));
    this.place.append(this.menu);
    const [box, whole] = [element.querySelector("circle").getBoundingClientRect(), this.place.getBoundingClientRect()];
    const left = Math.min(Math.max(box.left - whole.left, 0), whole.width - this.menu.offsetWidth);
    this.menu.style.left = `${left}px`;
    this.menu.style.top = `${box.bottom - whole.top + 6}px`;
    this.menu.querySelector("button").focus();
  }

  menuKey(event, element) {
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

export const isFar = (fact, limit) => limit !== null && (fact?.distance == null || Math.abs(fact.distance) > limit);

// Facts around the query entities that no reason cites, named in a list below each, on its outer side.
function addPeriphery(nodes, edges, periphery, sheet) {
  for (const side of ["subject", "object"]) {
    const centre = nodes.find((node) => node.role === side) ?? nodes[0];
    const facts = periphery.filter((fact) => fact.side === side);
    const x = centre.x + OUTWARD[side] * ASIDE;
    const above = nodes.filter((node) => (node.x - centre.x) * OUTWARD[side] >= 0 && node.role !== "periphery");
    const top = Math.max(...above.map(({ y, role }) => y + (role === "bystander" ? ROW + 10 : BELOW)));
    facts.forEach((fact, place) => {
      const inward = fact.object === centre.name;
      const name = inward ? fact.subject : fact.object;
      const node = {
        id: nodes.length, role: "periphery", radius: RADII.periphery, named: true, dx: 0, dy: 0, name, x, y: top + place * ROW,
        about: `${fact.subject} | ${fact.predicate} | ${fact.object} | ${fact.date}`,
      };
      nodes.push(node);
      const [source, target] = inward ? [node, centre] : [centre, node];
      const date = fact.apart ? `${fact.date} · ${fact.apart}` : fact.date;
      edges.push({ source: source.id, target: target.id, kind: "bystander", predicate: fact.predicate, date, more: 0, cited: fact, curve: straight(source, target) });
      sheet.left = Math.min(sheet.left, side === "subject" ? x - TEXT : x);
      sheet.right = Math.max(sheet.right, side === "object" ? x + TEXT : x);
      sheet.bottom = Math.max(sheet.bottom, node.y + 20);
    });
  }
}

function straight(source, target) {
  const [x, y] = [target.x - source.x, target.y - source.y];
  const length = Math.hypot(x, y) || 1;
  const at = (share, shift) => [source.x + x * share + (x / length) * shift, source.y + y * share + (y / length) * shift];
  return [...at(0, source.radius + 1), ...at(1 / 3, 0), ...at(2 / 3, 0), ...at(1, -target.radius - 4)];
}

function pathOf({ curve }, source, target) {
  const mix = (share, key) => source[key] * (1 - share) + target[key] * share;
  const [a, b, c, d] = [0, 0.3, 0.7, 1].map((share, place) => [curve[2 * place] + mix(share, "dx"), curve[2 * place + 1] + mix(share, "dy")].map((value) => value.toFixed(1)).join(" "));
  return `M${a}C${b} ${c} ${d}`;
}

function drawLabel(group, edge) {
  const more = edge.more ? ` (+${edge.more} more)` : "";
  const room = Math.max(Math.floor(Math.abs(edge.curve[6] - edge.curve[0]) / LETTER), 20) - more.length;
  const [x, y] = edge.label;
  group.append("text").attr("x", x).attr("y", y - 2).text(shortened(shown(edge.predicate), room) + more);
  group.append("text").attr("class", "when").attr("x", x).attr("y", y + 11).text(shown(edge.date));
}

function drawNode(group, node, nodes, edges) {
  group.append("title").text(shown(node.about ?? node.name));
  group.append("circle").attr("cx", node.x).attr("cy", node.y).attr("r", node.radius);
  if (node.role === "bystander" || node.role === "periphery") nameBystander(group, node, nodes, edges);
  else {
    const x = node.x + ({ subject: node.radius, object: -node.radius }[node.role] ?? 0);
    const text = group.append("text").attr("class", "name").attr("y", node.y + node.radius + 14);
    wrapped(node.name).forEach((line, place) => text.append("tspan").attr("x", x).attr("dy", place ? 13 : 0).text(line));
  }
}

function nameBystander(group, node, nodes, edges) {
  const edge = edges.find(({ source, target }) => source === node.id || target === node.id);
  const onLeft = node.x < nodes[edge.source + edge.target - node.id].x;
  group.classed(onLeft ? "left" : "right", true);
  if (!node.named) return;
  const x = node.x + (onLeft ? -node.radius - 5 : node.radius + 5);
  const end = ` ${edge.date.split(" · ")[0]}${edge.more ? ` (+${edge.more})` : ""}`;
  const fact = shortened(shown(edge.predicate), Math.max(SIDE_NAME - end.length, 9)) + end;
  group.append("text").attr("class", "name").attr("x", x).attr("y", node.y - 1).text(shortened(shown(node.name), SIDE_NAME));
  group.append("text").attr("class", "when").attr("x", x).attr("y", node.y + 12).text(fact);
}

// A name in a few short lines; the end is cut where it is too long.
function wrapped(name) {
  const lines = [];
  for (let word of shown(name).split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < NAME_LINE) lines[lines.length - 1] = `${last} ${word}`;
    else {
      for (; word.length > NAME_LINE; word = word.slice(NAME_LINE)) lines.push(word.slice(0, NAME_LINE));
      lines.push(word);
    }
  }
  if (lines.length > NAME_LINES) lines[NAME_LINES - 1] = shortened(lines.slice(NAME_LINES - 1).join(" "), NAME_LINE);
  return lines.slice(0, NAME_LINES);
}
