// The view in the address, so that it can be shared and gone back to.

const FIELDS = [
  "page", // watch, actor or help; else a question
  "subject",
  "object",
  "time",
  "general", // 1: a general answer is wanted about a name that is not in the data
  "view", // past_only: only earlier facts
  "predicate",
  "reason",
  "without", // facts that are struck out
  "suppose", // facts that are supposed
  "members", // 1: an actor is combined with those that have its name in brackets
  "entity", // this and the next three: of the watch list, or of an actor's page
  "country",
  "class",
  "group",
  "span", // of the ribbon and the timelines
  "days", // of the forecast and the watch list; where times are no days, steps
  "steps", // of the exploration; present: it is shown instead of the reasons
];

// A field of nothing but blanks is not set.
export function readState(search = location.search) {
  const parameters = new URLSearchParams(search);
  const isSet = (field) => parameters.get(field)?.trim() || parameters.get(field) === "";
  return Object.fromEntries(FIELDS.filter(isSet).map((field) => [field, parameters.get(field)]));
}

export function addressOf(state) {
  const set = FIELDS.filter(
    (field) => state[field] != null && (state[field] !== "" || field === "steps"),
  );
  const parameters = new URLSearchParams(set.map((field) => [field, state[field]])).toString();
  return parameters ? `?${parameters}` : location.pathname;
}

export function writeState(state, { push = false } = {}) {
  const address = addressOf(state);
  if (push && address !== location.search) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

// A range of positions: two ascending numbers, or null for anything else.
export function readZoom(text) {
  const match = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/.exec(text ?? "");
  const [first, last] = match ? [Number(match[1]), Number(match[2])] : [];
  return Number.isFinite(first) && Number.isFinite(last) && first < last ? [first, last] : null;
}

// The facts that are struck out, by their numbers.
export const readFacts = (text) =>
  (text ?? "")
    .split(",")
    .filter((part) => /^\d{1,9}$/.test(part))
    .map(Number);

const isFact = (fact) =>
  Array.isArray(fact) && fact.length === 4 && fact.every((part) => typeof part === "string");

// The facts that are supposed: [subject, predicate, object, time] each in the address.
export function readSupposed(text) {
  let facts = [];
  try {
    facts = JSON.parse(text || "[]");
  } catch {
    return [];
  }
  return (Array.isArray(facts) ? facts : [])
    .filter(isFact)
    .slice(0, 20)
    .map(([subject, predicate, object, time]) => ({ subject, predicate, object, time }));
}

export const writeSupposed = (facts) =>
  facts.length
    ? JSON.stringify(
        facts.map(({ subject, predicate, object, time }) => [subject, predicate, object, time]),
      )
    : null;

// The steps of the exploration, as one text.
export const readSteps = (text) =>
  text
    .split("|")
    .filter(Boolean)
    .map((step) => step.replaceAll(/%(25|7C)/g, decodeURIComponent));

export const writeSteps = (steps) =>
  steps.map((step) => step.replaceAll(/[%|]/g, encodeURIComponent)).join("|");

export const queryOf = ({ subject, object, time }) => ({ subject, object, time });

// What another question or another day leaves behind.
export const FRESH = { predicate: null, reason: null, without: null, suppose: null, steps: null };
const LISTED = { page: null, entity: null, country: null, class: null, group: null, members: null };

// What changes with a new question; of the same pair, the ranges that are shown stay, and whether
// a general answer is wanted.
export function questionChanges(state, changes) {
  const isSamePair = changes.subject === state.subject && changes.object === state.object;
  const ranges = isSamePair ? {} : { span: null, general: null };
  return { ...FRESH, ...LISTED, ...ranges, ...changes };
}
