// Messages: notes about a query, and problems with suggested actions.

import { keepToken } from "./api.js";
import { button, byId, el, soft } from "./dom.js";
import { shown } from "./wording.js";

// Types of notes that a part of the page omits because it shows the same information itself.
const SAID = {
  answer: ["view", "conditional"],
  outside: ["view", "conditional", "undated", "far"],
  forecast: ["view"],
};

// The texts of notes (objects with a kind, or plain texts), excluding some types.
export const noteTexts = (notes, part) =>
  notes
    .map((note) => (typeof note === "string" ? { kind: "", text: note } : note))
    .filter(({ kind }) => !SAID[part].includes(kind))
    .map(({ text }) => shown(text));

export const showNotes = (texts) =>
  byId("notice").replaceChildren(...texts.map((text) => el("p", {}, text)));

const NAMES = new Set(["subject", "object"]);

// Removes the problems of one part of the page (its source), or all problems.
export function clearProblems(source) {
  const selector = source ? `[data-source=${source}]` : "[data-source]";
  for (const problem of byId("problems").querySelectorAll(selector)) problem.remove();
}

// Wraps the work of a part of the page (source): it shows the part's problem until the work
// succeeds again. signal: aborted when the work is no longer needed.
export const guardedBy =
  (actions) =>
  async (source, work, signal = null) => {
    try {
      await work();
      if (!signal?.aborted) clearProblems(source);
    } catch (problem) {
      if (!signal?.aborted) showProblem(problem, source, actions);
    }
  };

// Whether the same request may succeed later: no response, too many requests, a server error.
export const canRetry = ({ status }) => status === 0 || status === 429 || status >= 500;

const HINT = "Type a few letters into the field and choose from the list.";

// onSuggestion(where, name) puts a name into a field and asks again; onRetry asks again. For a name
// that is not in the data, onGeneral shows the generic answer, and onUnknown(where) the matches.
export function showProblem(problem, source, actions) {
  if (problem.name === "AbortError") return;
  clearProblems(source);
  const {
    title = "Something went wrong in the page",
    detail = problem.message,
    advice = "Reload the page.",
    suggestions = [],
    where,
  } = problem;
  const isName = NAMES.has(where);
  const isUnknown = problem.status === 404 && source === "answer" && isName;
  const buttons = suggestions.map((name) =>
    button(shown(name), () => actions.onSuggestion(where, name)),
  );
  if (isUnknown) buttons.push(button("Show the generic answer", actions.onGeneral));
  if (canRetry(problem)) buttons.push(button("Try again", actions.onRetry));
  const question = suggestions.length ? " Did you mean …?" : "";
  byId("problems").append(
    el(
      "div",
      { class: "problem card", role: "alert", "data-source": source },
      el("h2", {}, isUnknown ? shown(detail) + question : title),
      isUnknown ? null : el("p", {}, shown(detail)),
      problem.status === 401 ? tokenForm(actions.onRetry) : soft(isName ? HINT : advice),
      buttons.length ? el("div", { class: "tools" }, ...buttons) : null,
    ),
  );
  if (isUnknown) actions.onUnknown(where);
}

function tokenForm(onRetry) {
  const field = el("input", { type: "password", id: "token", required: true, autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    keepToken(field.value);
    onRetry();
  };
  return el(
    "form",
    { class: "token", onsubmit: submit },
    el("label", { for: "token" }, "The token that the service was started with"),
    field,
    el("button", { class: "primary" }, "Continue"),
  );
}
