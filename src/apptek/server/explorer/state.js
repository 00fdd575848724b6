// The view in the address, so that it can be shared and restored with the back button.

const FIELDS = [
  "page", // watch, actor or help; otherwise a question
  "subject",
  "object",
  "time",
  "general", // 1: give a generic answer about a name that is not in the data
  "view", // past_only: only earlier facts
  "predicate",
  "reason",
  "without", // facts that are removed
  "suppose", // facts that are supposed
  "members", // 1: combine an actor with the entities that have its name in brackets
  "entity", // this and the next three apply to the watch list or an actor's page
  "country",
  "class",
  "group",
  "span", // for the ribbon and the timelines
  "days", // for the forecast and the watch list; steps if times are not days
  "steps", // of the exploration; if present, it is shown instead of the reasons
];

// A field that contains only spaces is not set.
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

// A range of positions: two ascending numbers; null for anything else.
export function readZoom(text) {
  const match = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/.exec(text ?? "");
  const [first, last] = match ? [Number(match[1]), Number(match[2])] : [];
  return Number.isFinite(first) && Number.isFinite(last) && first < last ? [first, last] : null;
}

// The removed facts, by number.
export const readFacts = (text) =>
  (text ?? "")
    .split(",")
    .filter((part) => /^\d{1,9}$/.test(part))
    .map(Number);

const isFact = (fact) =>
  Array.isArray(fact) && fact.length === 4 && fact.every((part) => typeof part === "string");

// The supposed facts: [subject, predicate, object, time] each in the address.
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

// The steps of the exploration, as a single text.
export const readSteps = (text) =>
  text
    .split("|")
    .filter(Boolean)
    .map((step) => step.replaceAll(/%(25|7C)/g, decodeURIComponent));

export const writeSteps = (steps) =>
  steps.map((step) => step.replaceAll(/[%|]/g, encodeURIComponent)).join("|");

export const queryOf = ({ subject, object, time }) => ({ subject, object, time });

// What is reset by another question or another day.
export const FRESH = { predicate: null, reason: null, without: null, suppose: null, steps: null };
const LISTED = { page: null, entity: null, country: null, class: null, group: null, members: null };

// What changes with a new question. For the same pair, the displayed ranges and the request for a
// generic answer are kept.
export function questionChanges(state, changes) {
  const isSamePair = changes.subject === state.subject && changes.object === state.object;
  const ranges = isSamePair ? {} : { span: null, general: null };
  return { ...FRESH, ...LISTED, ...ranges, ...changes };
}
