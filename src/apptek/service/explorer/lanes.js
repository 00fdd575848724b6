// The data of the timelines: a lane for each direction of the pair, and one for each entity.

import { get, post, timelinePath } from "./api.js";
import { shown } from "./wording.js";

const { d3 } = globalThis;
const LIMIT = 600; // facts of a lane that are fetched; of more, counts are drawn
const BAR = 3; // pixels that a bar has at least
export const LETTER = 7.2; // pixels of one in the label of a time

// Fetches the lanes of a query. unknown: which of its names are not in the data; span: `from` and
// `to` as texts, or nothing for the whole span.
export async function fetchLanes({ subject, object, unknown }, span, signal) {
  const lane = (path, names, values = {}) =>
    names.some((name) => unknown.includes(name))
      ? null
      : get(path, { ...span, limit: LIMIT, ...values }, signal);
  const [pair, ofSubject, ofObject] = await Promise.all([
    lane("/api/pair", [subject, object], { subject, object }),
    lane(timelinePath(subject), [subject]),
    lane(timelinePath(object), [object]),
  ]);
  const forward = {
    title: `${shown(subject)} → ${shown(object)}`,
    data: pair?.forward,
    heldOut: pair?.held_out,
  };
  const backward = { title: `${shown(object)} → ${shown(subject)}`, data: pair?.backward };
  const first = { title: shown(subject), data: ofSubject, ofEntity: true };
  const second = { title: shown(object), data: ofObject, ofEntity: true };
  return subject === object ? [forward, first] : [forward, backward, first, second];
}

/**
 * The latest time at which something happened between two, null if none is known.
 * @param {{subject: string, object: string}} query
 * @param {AbortSignal} signal
 * @returns {Promise<string | null>}
 */
export async function latestTime({ subject, object }, signal) {
  const { similar } = await post(
    "/api/predict",
    { subject, object, top: 1, allow_unknown: true },
    signal,
  );
  if (Object.keys(similar).length) return null; // one of them is not in the data
  return (await get("/api/pair", { subject, object, limit: 1 }, signal)).latest;
}

// The bars of a lane: from the facts themselves if all were fetched, else from the counts.
export function barsOf(data, x) {
  const [left, right] = x.range();
  const bars = data.total > data.facts.length ? barsOfCounts(data, x) : barsOfFacts(data, x);
  return bars.filter(({ from, to }) => to > left - 1 && from < right + 1);
}

function barsOfCounts(data, x) {
  const step = (data.last - data.first + 1) / data.counts.length;
  return data.counts
    .map((count, part) => ({
      count,
      facts: [],
      first: Math.ceil(data.first + part * step),
      last: Math.ceil(data.first + (part + 1) * step) - 1,
    }))
    .filter(({ count }) => count)
    .map((bar) => ({ ...bar, from: x(bar.first), to: x(bar.last + 1) }));
}

// Facts that last are drawn as intervals, so only moments count here.
function barsOfFacts(data, x) {
  const step = Math.max(Math.ceil(BAR / (x(1) - x(0))), 1);
  const groups = d3.group(
    data.facts.filter(({ start, end }) => start === end),
    ({ start }) => Math.floor(start / step) * step,
  );
  return [...groups].map(([first, facts]) => ({
    facts,
    count: facts.length,
    first: d3.min(facts, ({ start }) => start),
    last: d3.max(facts, ({ start }) => start),
    from: x(first),
    to: x(first + step),
  }));
}

// Positions among which are the first and the last one of a lane.
export function extentOf({ total, facts, counts, first, last }) {
  if (total <= facts.length) return facts.flatMap(({ start, end }) => [start, end]);
  const step = (last - first + 1) / counts.length;
  return [
    first + counts.findIndex(Boolean) * step,
    first + (counts.findLastIndex(Boolean) + 1) * step - 1,
  ].map(Math.round);
}

// The stretch in which something happens, with the query in it. at: its position, or null
export function busyRange(lanes, at, [low, high]) {
  const ends = lanes.flatMap(({ data }) => (data ? extentOf(data) : []));
  const [first, last] = d3.extent(at === null ? ends : [...ends, at]);
  if (first === undefined) return [low, high];
  const margin = Math.max((last - first) * 0.04, 2);
  return [
    Math.max(Math.min(first - margin, high - 4), low),
    Math.min(Math.max(last + 1 + margin, low + 4), high),
  ];
}

// Less time around the query if it can be seen, else around the middle; or more, or other time.
// shift: in parts of the width
export function zoomedLanes([first, last], [low, high], at, factor, shift = 0) {
  const towardsQuery = factor > 1 && at !== null && at >= first && at <= last;
  const centre = towardsQuery ? at + 0.5 : (first + last) / 2;
  const size = Math.max(Math.min((last - first) / factor, high - low), 4);
  const start = Math.min(Math.max(centre - size / 2 + shift * size, low), high - size);
  return [start, start + size];
}

// The positions whose labels have room beside each other and beside the label of the query.
// letters: how many a label has.
export function withRoom(positions, x, queryX, letters) {
  const [left, right] = x.range();
  const width = LETTER * letters;
  const kept = [];
  for (const position of positions) {
    const at = x(position);
    const inside = at > left + width / 2 - 6 && at < right - width / 2 + 6;
    const free = queryX === null || Math.abs(at - queryX) > width + 20;
    const apart = !kept.length || at - x(kept.at(-1)) > width + 10;
    if (inside && free && apart) kept.push(position);
  }
  return kept;
}
