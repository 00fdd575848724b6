// The facts of an entity that are nearest in time to a question.

import { get, timelinePath } from "./api.js";

const [WIDTHS, FACTS, FETCHED] = [[3, 30, 400], 6, 400]; // steps on both sides, facts, of a window

// Looks at more and more time around the question until there are enough facts.
export async function nearestFacts(axis, name, time) {
  const at = axis.timeless ? null : axis.position(time);
  if (at === null) return (await get(timelinePath(name), { limit: FACTS })).facts;
  return within(axis, name, at, WIDTHS);
}

async function within(axis, name, at, /** @type {number[]} */ [width, ...wider]) {
  const ends = { from: axis.text(at - width), to: axis.text(at + width) };
  const { facts } = await get(timelinePath(name), { ...ends, limit: FETCHED });
  if (facts.length < FACTS && wider.length) return within(axis, name, at, wider);
  const distance = ({ start }) => Math.abs(start - at);
  return facts.toSorted((a, b) => distance(a) - distance(b)).slice(0, FACTS);
}
