// The view in the address, so that it can be shared and gone back to.

const FIELDS = ["subject", "object", "time", "predicate", "reason", "within", "periphery", "hide", "zoom"];

export function readState(search = location.search) {
  const found = new URLSearchParams(search);
  return Object.fromEntries(FIELDS.filter((field) => found.has(field)).map((field) => [field, found.get(field)]));
}

export function writeState(state, { push = false } = {}) {
  const kept = FIELDS.filter((field) => state[field] != null && state[field] !== "");
  const query = new URLSearchParams(kept.map((field) => [field, state[field]])).toString();
  const address = query ? `?${query}` : location.pathname;
  if (push && address !== location.search) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
