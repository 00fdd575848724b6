// The page's buttons and switches, and what each one does.

import { all, byId } from "./dom.js";

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
