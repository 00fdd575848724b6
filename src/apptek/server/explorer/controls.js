// The page's buttons and switches, what each one does, and the summary of the model.

import { all, byId } from "./dom.js";
import { counted, timely } from "./wording.js";

// No question can be asked until the model is known.
export function enableAsking(isEnabled) {
  for (const control of all("#ask input, #ask button, #search")) control.disabled = !isEnabled;
}

export function bindControls(page, actions) {
  const { fields, ask, query, zoom } = actions;
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const { subject, object, time } = fields();
    ask({ subject: subject.value, object: object.value, time: time.value || "?" });
  });
  byId("swap").addEventListener("click", () => {
    const { subject, object } = fields();
    if (page.answer && !byId("ask").reportValidity()) return; // swap everything or nothing
    [subject.value, object.value] = [object.value, subject.value];
    if (page.answer) byId("ask").requestSubmit();
  });
  for (const button of all("[data-view]")) {
    button.addEventListener("click", () => {
      const { without } = page.state;
      ask({ ...query(), without, view: button.dataset.view || null });
    });
  }
  byId("counterfactual").addEventListener("click", actions.findSmallest);
  byId("span-in").addEventListener("click", () => zoom(2));
  byId("span-out").addEventListener("click", () => zoom(0.5));
  byId("span-all").addEventListener("click", () => zoom(null));
  byId("save").addEventListener("click", actions.save);
}

// The first lines of the page, and its footer.
export function showModel({ summary, span, forecasts }, { axis }) {
  const {
    dataset,
    entities,
    predicates,
    answers_from: known_facts,
    training_facts: training,
  } = summary;
  for (const link of all("[data-page=watch]")) link.hidden = !forecasts;
  document.body.classList.toggle("timeless", axis.timeless);
  for (const part of all("[data-timely]")) part.hidden = axis.timeless;
  const when = timely(`, ${span.first} to ${span.last}`);
  const known = `${counted(known_facts, "fact")} about ${counted(entities, "entity")}`;
  const questions = timely(
    " at a time: see the likely event, the reasons, and the forecast.",
    ", and why.",
  );
  byId("lede").textContent = `Ask what one actor does to another${questions}`;
  const facts = known_facts > training ? "all" : "the training";
  byId("footer").textContent =
    `Answers come from ${facts} facts of ${dataset}: ${known}, ${counted(predicates, "predicate")}${when}. ` +
    "Nothing leaves this machine.";
  for (const part of all("[data-unit]")) part.textContent = axis.word;
  byId("span-out").ariaLabel = `Show more ${axis.word}s`;
  byId("span-in").ariaLabel = `Show fewer ${axis.word}s`;
  byId("span-all").ariaLabel = `Show all ${axis.word}s`;
}
