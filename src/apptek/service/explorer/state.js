// The view in the address, so that it can be shared and gone back to.

const FIELDS = [
  "subject",
  "object",
  "time",
  "predicate",
  "reason",
  "within",
  "periphery",
  "hide",
  "zoom",
];

export function readState(search = location.search) {
  const parameters = new URLSearchParams(search);
  return Object.fromEntries(
    FIELDS.filter((field) => parameters.has(field)).map((field) => [field, parameters.get(field)]),
  );
}

export function writeState(state, { push = false } = {}) {
  const set = FIELDS.filter((field) => state[field] != null && state[field] !== "");
  const parameters = new URLSearchParams(set.map((field) => [field, state[field]])).toString();
  const address = parameters ? `?${parameters}` : location.pathname;
  if (push && address !== location.search) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

// The zoom of the timelines: two ascending positions, "all", or null for anything else.
export function readZoom(text) {
  if (text === "all") return text;
  const match = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/.exec(text ?? "");
  const [first, last] = match ? [Number(match[1]), Number(match[2])] : [];
  return Number.isFinite(first) && Number.isFinite(last) && first < last ? [first, last] : null;
}
