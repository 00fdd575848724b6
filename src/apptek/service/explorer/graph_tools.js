// What stands around the graph: its slider, its buttons, and the facts of the chosen reason.

import { all, byId } from "./dom.js";
import { isFar } from "./graph.js";
import { showFacts } from "./reasons.js";
import { counted, timely } from "./wording.js";

export class GraphTools {
  // page: what is shown; onStrike(facts): facts are to be struck out.
  constructor(page, graph, { onUpdate, onStrike }) {
    this.page = page;
    this.graph = graph;
    this.onUpdate = onUpdate;
    this.onStrike = onStrike;
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
    const { explanation, state } = this.page;
    const numbered = [...explanation.reasons, ...explanation.against];
    const cited = new Map();
    for (const fact of numbered.flatMap(({ facts }) => facts)) cited.set(fact.fact, fact);
    this.facts = [...cited.values()];
    const dated = this.facts.filter(({ distance }) => distance != null);
    this.distances = [...new Set(dated.map(({ distance }) => Math.abs(distance)))];
    this.distances.sort((a, b) => a - b);
    const slider = byId("within");
    slider.max = this.distances.length;
    slider.disabled = !this.distances.length;
    const limit = /^\d+$/.test(state.within) ? Number(state.within) : null;
    const place = this.distances.findLastIndex((distance) => distance <= limit);
    slider.value = limit === null ? this.distances.length : Math.max(place, 0);
    this.dimFarFacts();
  }

  dimFarFacts() {
    const { chosen } = this.page;
    const limit = this.distances[Number(byId("within").value)] ?? null;
    this.onUpdate({ within: limit });
    this.graph.within(limit);
    const strike = this.page.explanation.view ? (fact) => this.onStrike([fact.fact]) : null;
    showFacts(chosen, (fact) => isFar(fact, limit), strike);
    const near = this.facts.filter((fact) => !isFar(fact, limit)).length;
    const share = near === this.facts.length ? "" : `${near} of `;
    byId("within-label").textContent =
      `${this.rangeText(limit)}: ${share}${counted(this.facts.length, "fact")}`;
  }

  rangeText(limit) {
    const { time } = this.page.state;
    if (limit === null) return "At any time";
    if (limit === 0) return `At ${time}`;
    return `Within ${counted(limit, this.page.axis.word)} of ${time}`;
  }
}
