// What stands around the graph: its slider, its buttons, and the facts of the chosen reason.

import { all, byId } from "./dom.js";
import { isFar } from "./graph.js";
import { showFacts } from "./reasons.js";
import { counted, timely } from "./wording.js";

// The facts that an explanation cites, each once.
export function citedFacts({ reasons, against }) {
  const facts = [...reasons, ...against].flatMap((reason) => reason.facts);
  return [...new Map(facts.map((fact) => [fact.fact, fact])).values()];
}

// The distances in time that occur, the nearest first.
export function distancesOf(facts) {
  const dated = facts.filter(({ distance }) => distance != null);
  return [...new Set(dated.map(({ distance }) => Math.abs(distance)))].toSorted((a, b) => a - b);
}

// The stop of the slider for the distance in the address; the last one shows all facts.
export function stopOf(distances, within) {
  if (!/^\d+$/.test(within)) return distances.length;
  const place = distances.findLastIndex((distance) => distance <= Number(within));
  return Math.max(place, 0);
}

// How far from the query facts may be, in words. limit: null, or a count of units
export function rangeText(limit, time, unit) {
  if (limit === null) return "At any time";
  return limit === 0 ? `At ${time}` : `Within ${counted(limit, unit)} of ${time}`;
}

export class GraphTools {
  // page: what is shown; onUpdate(changes): the state has changed.
  constructor(page, graph, whatIf, onUpdate) {
    this.page = page;
    this.graph = graph;
    this.whatIf = whatIf;
    this.onUpdate = onUpdate;
    this.distances = [];
    this.facts = [];
    byId("within").addEventListener("input", () => this.dimFarFacts());
    byId("zoom-in").addEventListener("click", () => graph.zoomBy(1.4));
    byId("zoom-out").addEventListener("click", () => graph.zoomBy(1 / 1.4));
    byId("zoom-fit").addEventListener("click", () => graph.zoomBy(null));
  }

  show() {
    const { explanation } = this.page;
    const drawn = explanation.drawing.edges.some(({ kind }) => kind !== "question");
    if (drawn) this.graph.draw(explanation.drawing);
    else this.graph.empty(`No facts connect the two${timely(" around that time")}.`);
    this.enable(drawn);
    this.setSlider();
  }

  clear() {
    byId("facts-title").textContent = "Facts";
    byId("facts").replaceChildren();
    byId("within-label").textContent = "";
    byId("within").disabled = true;
    this.graph.empty("There is no explanation to draw.");
    this.enable(false);
  }

  // Only tools that have something to work on can be used.
  enable(drawn) {
    for (const id of ["zoom-in", "zoom-out", "zoom-fit"]) byId(id).disabled = !drawn;
    byId("nearby").disabled = !this.page.explanation;
    for (const button of all("[data-export]")) {
      button.disabled = !(button.dataset.export === "json" ? this.page.explanation : drawn);
    }
  }

  // The slider has a stop for each distance in time that occurs, and a last one for all facts.
  setSlider() {
    this.facts = citedFacts(this.page.explanation);
    this.distances = distancesOf(this.facts);
    const slider = byId("within");
    slider.max = this.distances.length;
    slider.disabled = !this.distances.length;
    slider.value = stopOf(this.distances, this.page.state.within);
    this.dimFarFacts();
  }

  dimFarFacts() {
    const { chosen, state, axis } = this.page;
    const limit = this.distances[Number(byId("within").value)] ?? null;
    this.onUpdate({ within: limit });
    this.graph.within(limit);
    const strike = this.page.explanation.view ? (fact) => this.whatIf.strike([fact.fact]) : null;
    showFacts(chosen, (fact) => isFar(fact, limit), strike);
    const near = this.facts.filter((fact) => !isFar(fact, limit)).length;
    const share = near === this.facts.length ? "" : `${near} of `;
    byId("within-label").textContent =
      `${rangeText(limit, state.time, axis.word)}: ${share}${counted(this.facts.length, "fact")}`;
  }
}
