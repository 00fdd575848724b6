// The geometry of the ribbon: the position of each layer, the grouping of marks, and the day that
// is meant. These are plain functions without a page, so that they can be tested separately.

// From the axis outwards: talk before deeds, cooperation before conflict.
const ORDER = [
  "verbal cooperation",
  "material cooperation",
  "verbal conflict",
  "material conflict",
];
// The steps for the handle's keys.
const KEYS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -30, PageUp: 30 };
const COLOURS = 6; // number of tones for classes that have no colour of their own

// The tone of each layer: the name of its colour.
export function tonesOf(layers) {
  let next = 0;
  return layers.map(({ name }) => {
    if (ORDER.includes(name)) return name.replaceAll(" ", "-");
    if (name === "other" || next >= COLOURS) return "neutral";
    next += 1;
    return `class-${next}`;
  });
}

// The tone of a group of predicates; null if it has no group.
export const toneOf = (group) => tonesOf([{ name: group ?? "other" }])[0];

// The layers from the axis outwards, by index; `other` is outermost.
export function layerOrder(layers) {
  const rank = (place) => {
    const { name } = layers[place];
    const known = ORDER.indexOf(name);
    if (known >= 0) return known;
    return name === "other" ? layers.length + ORDER.length : place;
  };
  return layers.map((_, place) => place).toSorted((a, b) => rank(a) - rank(b));
}

// The lower and upper bound of every layer at every time, from 0 at the axis to 1. shares: for each
// time, the probability of each layer; order: the layers from the axis outwards
export function stacked(shares, order) {
  const bounds = order.map(() => []);
  for (const row of shares) {
    const total = row.reduce((sum, share) => sum + share, 0) || 1;
    let low = 0;
    for (const [place, layer] of order.entries()) {
      const high = low + row[layer] / total;
      bounds[place].push([low, high]);
      low = high;
    }
  }
  return bounds;
}

// The index of the time nearest to a position; ties: the earlier one.
export function nearestPlace(positions, position) {
  let [low, high] = [0, positions.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < position) low = middle + 1;
    else high = middle;
  }
  const before = low - 1;
  if (before < 0) return low;
  return position - positions[before] <= Math.abs(positions[low] - position) ? before : low;
}

// The marks of a direction as dots: overlapping marks in the same layer form one dot.
export function dotsOf(marks, predicates, x, width) {
  const dots = new Map();
  for (const mark of marks) {
    const { layer } = predicates[mark.predicate];
    const column = Math.floor(x(mark.start + 0.5) / width);
    const key = `${column} ${layer}`;
    const dot = dots.get(key) ?? { x: (column + 0.5) * width, layer, marks: [] };
    dot.marks.push(mark);
    dots.set(key, dot);
  }
  return [...dots.values()];
}

// What the ranking shows for a place on the ribbon until the full answer arrives.
export function rankedAt({ forward, predicates, positions }, place) {
  const at = positions[place];
  const known = new Set(
    forward.marks.filter(({ start, end }) => start <= at && at <= end).map((m) => m.predicate),
  );
  return forward.first[place].map(([number, probability]) => ({
    predicate: predicates[number].name,
    label: predicates[number].label,
    layer: predicates[number].layer,
    probability,
    known: known.has(number),
  }));
}

// The sums of all layers at a place, largest first.
export function sharesAt({ forward, layers }, place) {
  return layers
    .map(({ name }, layer) => ({ name, layer, probability: forward.shares[place][layer] }))
    .toSorted((a, b) => b.probability - a.probability);
}

// The position selected by a key of the handle, inside the range; null if the key has no effect.
export function keyTarget({ key, shiftKey }, at, positions) {
  const [first, last] = [positions[0], positions[positions.length - 1]];
  const ends = new Map([
    ["Home", first],
    ["End", last],
  ]);
  const steps = (KEYS[key] ?? 0) * (shiftKey ? 7 : 1);
  if (!ends.has(key) && !steps) return null;
  return Math.min(Math.max(ends.get(key) ?? at + steps, first), last);
}

// The part of a range that is inside the whole range; null if they do not overlap.
export function clipped(/** @type {number[]} */ [first, last], [low, high]) {
  const [from, to] = [Math.max(first, low), Math.min(last, high)];
  return from < to ? [from, to] : null;
}

// A part of a range around a position, inside the whole range. factor: above 1 zooms in
export function zoomed([first, last], [low, high], centre, factor) {
  const length = Math.min(Math.max(Math.round((last - first) / factor), 14), high - low);
  const start = Math.round(Math.min(Math.max(centre - length / 2, low), high - length));
  return [start, start + length];
}
