// All facts between two entities: how many there were over the time of the ribbon, and as a list.

import { get } from "./api.js";
import { CountCharts, countsOf } from "./counts_chart.js";
import { byId, waiting } from "./dom.js";
import { table } from "./reasons.js";
import { counted, shown } from "./wording.js";

const LIMIT = 600; // facts that are listed

/**
 * The latest time at which something happened between two; null if none is known.
 * @param {{subject: string, object: string}} query
 * @param {AbortSignal} signal
 * @returns {Promise<string | null>}
 */
export async function latestTime({ subject, object }, signal) {
  const pair = await get("/api/pair", { subject, object, limit: 1 }, signal).catch((problem) => {
    if (problem.status !== 404) throw problem;
    return { latest: null }; // one of them is not in the data
  });
  return pair.latest;
}

export class Timelines {
  // guarded(work): does some work, and shows its problem.
  constructor(container, axis, guarded) {
    this.container = container;
    this.axis = axis;
    this.charts = new CountCharts(container, axis);
    // Nothing is fetched before it is nearly visible.
    const look = (entries) => {
      if (entries.at(-1).isIntersecting && this.wanted) guarded(() => this.fetch());
    };
    this.sight = new IntersectionObserver(look, { rootMargin: "200px" });
  }

  // Prepares the list of a pair, unless one of the names is unknown.
  show({ subject, object }, unknown) {
    this.clear();
    byId("timelines").hidden = unknown.length > 0;
    this.wanted = unknown.length ? null : { subject, object };
    this.sight.unobserve(byId("timelines")); // it measures again where they are
    this.sight.observe(byId("timelines"));
  }

  // Draws how much happened, by the data of the ribbon.
  showCounts(ribbon) {
    const { forward, backward, layers, positions } = ribbon;
    const ways = forward.subject === forward.object ? [forward] : [forward, backward];
    const charts = ways
      .filter(({ marks }) => marks.length)
      .map(({ subject, object, marks }) => ({
        title: `${shown(subject)} → ${shown(object)}`,
        counts: countsOf(marks, ribbon),
      }));
    const names = layers.map(({ name }) => name);
    const span = { layers: names, first: positions[0], last: positions.at(-1) };
    this.container.replaceChildren(...this.charts.cards(charts, span, "h3"));
    this.charts.draw();
  }

  async fetch() {
    this.fetching = new AbortController();
    const work = get("/api/pair", { ...this.wanted, limit: LIMIT }, this.fetching.signal);
    this.wanted = null;
    this.listFacts(await waiting([byId("timelines")], work));
  }

  // Shows nothing, and waits for nothing.
  clear() {
    this.fetching?.abort();
    this.wanted = null;
    this.container.replaceChildren();
    byId("history").hidden = true;
  }

  listFacts({ subject, object, forward, backward, held_out: unused }) {
    const heldOut = unused.map((fact) => ({ ...fact, apart: "held out" }));
    const ways = subject === object ? [forward] : [forward, backward];
    const recorded = ways.flatMap((way) => [...way.facts, ...way.without_date]);
    const facts = [...recorded, ...heldOut];
    facts.sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity) || 0);
    const [summary, body] = byId("history").children;
    byId("history").hidden = facts.length === 0;
    if (this.axis.timeless) byId("history").open = true;
    summary.textContent = historyText(facts.length, heldOut.length);
    body.replaceChildren(table(facts));
  }
}

export function historyText(count, heldOut) {
  const unused = heldOut ? ` (${heldOut} held out: no answer uses them)` : "";
  return `${counted(count, "fact")} between them${unused}, as a list`;
}
