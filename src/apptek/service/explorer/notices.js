// Messages: notes about a query, and problems with what to do about them.

import { keepToken } from "./api.js";
import { byId, el } from "./dom.js";
import { shown } from "./wording.js";

// similar: for each unknown name, names like it; onSuggestion(unknown, name): ask about one of them.
export function showNotes(notes, similar = {}, onSuggestion = null) {
  const offers = Object.entries(similar)
    .filter(([, names]) => names.length)
    .map(([unknown, names]) =>
      el(
        "p",
        { class: "tools" },
        `Instead of ${shown(unknown)}: `,
        ...names.map((name) => suggestion(name, () => onSuggestion(unknown, name))),
      ),
    );
  byId("notice").replaceChildren(
    ...(notes.length
      ? [el("div", { class: "note" }, ...notes.map((note) => el("p", {}, shown(note))), ...offers)]
      : []),
  );
}

const suggestion = (name, onclick) =>
  el("button", { type: "button", class: "quiet", onclick }, shown(name));

const NAMES = new Set(["subject", "object"]);

// Removes the problems of one part of the page (its source), or all of them.
export function clearProblems(source) {
  const selector = source ? `[data-source=${source}]` : "[data-source]";
  for (const problem of byId("problems").querySelectorAll(selector)) problem.remove();
}

// A function that does some work of a part of the page (source), and shows its problem until it
// works again. signal: aborted once nobody waits for the work.
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

// Whether the same request may succeed later: no answer, too many requests, a fault of the service.
export const canRetry = ({ status }) => status === 0 || status === 429 || status >= 500;

// A name that is not in the data: names like it as buttons; the general answer behind another one.
// onUnknown(where): the field that is wrong may offer its matches.
function showUnknownName({ detail, where, suggestions }, source, actions) {
  const buttons = suggestions.map((name) =>
    suggestion(name, () => actions.onSuggestion(where, name)),
  );
  byId("problems").append(
    el(
      "div",
      { class: "problem card", role: "alert", "data-source": source },
      el("h2", {}, shown(detail) + (buttons.length ? " Did you mean …?" : "")),
      buttons.length ? el("div", { class: "tools" }, ...buttons) : null,
      el("p", { class: "soft" }, "Type a few letters into the field and choose from the list."),
      el(
        "button",
        { type: "button", class: "quiet", onclick: actions.onGeneral },
        "Show the general answer",
      ),
    ),
  );
  actions.onUnknown(where);
}

// onSuggestion(where, name) puts a name into a field and asks again; onRetry asks again.
export function showProblem(problem, source, actions) {
  if (problem.name === "AbortError") return;
  clearProblems(source);
  if (problem.status === 404 && source === "answer" && NAMES.has(problem.where)) {
    showUnknownName(problem, source, actions);
    return;
  }
  const { onSuggestion, onRetry } = actions;
  const {
    title = "Something went wrong in the page",
    detail = problem.message,
    advice = "Reload the page.",
    suggestions = [],
  } = problem;
  const hint = NAMES.has(problem.where)
    ? "Type a few letters into the field and choose from the list."
    : advice;
  const buttons = suggestions.map((name) =>
    suggestion(name, () => onSuggestion(problem.where, name)),
  );
  const retry = canRetry(problem)
    ? [el("button", { type: "button", class: "quiet", onclick: onRetry }, "Try again")]
    : [];
  byId("problems").append(
    el(
      "div",
      { class: "problem card", role: "alert", "data-source": source },
      el("h2", {}, title),
      el("p", {}, shown(detail)),
      problem.status === 401 ? tokenForm(onRetry) : el("p", { class: "soft" }, hint),
      buttons.length || retry.length ? el("div", { class: "tools" }, ...buttons, ...retry) : null,
    ),
  );
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
