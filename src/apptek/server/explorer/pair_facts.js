// All facts between two entities as a list, and the time of the latest one.

import { get } from "./api.js";
import { byId, waiting } from "./dom.js";
import { table } from "./reasons.js";

const LIMIT = 600; // maximum number of facts to list

/**
 * The latest time at which something happened between two entities; null if none is known.
 * @param {{subject: string, object: string}} query
 * @param {AbortSignal} signal
 * @returns {Promise<string | null>}
 */
export async function latestTime({ subject, object }, signal) {
  const pair = await get("/api/pair", { subject, object, limit: 1 }, signal).catch((problem) => {
    if (problem.status !== 404) throw problem;
    return { latest: null }; // one of the names is not in the data
  });
  return pair.latest;
}

export class PairFacts {
  // guarded(work): performs some work and shows its problem. Nothing is fetched until it is opened.
  constructor(guarded) {
    const [, body] = byId("history").children;
    byId("history").addEventListener("toggle", ({ newState }) => {
      if (newState === "open" && this.pair) guarded(() => this.fetch(body));
    });
  }

  // Collapses the list, because it belongs to another pair; null: there is no pair.
  show(pair) {
    this.fetching?.abort();
    this.pair = pair;
    byId("history").open = false;
    byId("timelines").hidden = !pair;
  }

  async fetch(body) {
    this.fetching = new AbortController();
    const asked = get("/api/pair", { ...this.pair, limit: LIMIT }, this.fetching.signal);
    const { facts } = await waiting([byId("timelines")], asked);
    body.replaceChildren(table(facts));
  }
}
