// The paper's exploration, played by the visitor: choose a predicate, and both sides follow it
// along their facts nearest in time until they meet.

import { post } from "./api.js";
import { all, byId, choice, el, span, swatch, undoButton, waiting } from "./dom.js";
import { toneOf } from "./ribbon_shape.js";
import { readSteps, writeSteps } from "./state.js";
import { counted, shown, timely } from "./wording.js";

const SHOWN = 14; // number of choices before the others are folded away

export class StepByStep {
  // onSteps(text or null): show other steps; null: show the reasons again.
  constructor(graph, { onSteps }) {
    this.graph = graph;
    this.onSteps = onSteps;
    byId("show-reasons").addEventListener("click", () => onSteps(null));
    byId("show-steps").addEventListener("click", () => onSteps(""));
  }

  // text: the steps in the address; null or undefined if there are none
  mark(text) {
    const playing = text != null;
    byId("show-reasons").setAttribute("aria-pressed", String(!playing));
    byId("show-steps").setAttribute("aria-pressed", String(playing));
    byId("steps").hidden = !playing;
    return playing;
  }

  async show(query, view, text, signal) {
    const steps = readSteps(text);
    const body = { ...query, view, steps, width: Math.min(this.graph.width, 1400) };
    const found = await waiting([byId("graph-card")], post("/api/steps", body, signal));
    if (signal?.aborted) return;
    this.graph.draw(found.drawing);
    const focused = byId("steps").contains(document.activeElement);
    byId("steps").replaceChildren(...this.parts(found, query));
    const next = focused && (all("#steps [data-step]")[0] ?? all("#steps button")[0]);
    next?.focus({ preventScroll: true });
  }

  parts(found, { subject, object }) {
    const { steps, met, meeting, over, left, choices } = found;
    const back = (count) => () => this.onSteps(writeSteps(steps.slice(0, count)));
    const trail = el(
      "ol",
      { class: "trail" },
      ...steps.map((step, place) =>
        el(
          "li",
          {},
          `${place + 1}. ${shown(step)}`,
          undoButton(`Go back before step ${place + 1}`, back(place)),
        ),
      ),
    );
    const words = met
      ? `After ${counted(steps.length, "step")} they meet${meetingText(meeting, subject, object)}.`
      : openText(over, left, choices.length);
    return [
      el("p", { class: "steps-words", role: "status" }, words),
      steps.length ? trail : null,
      over ? null : this.choiceList(choices, found),
    ].filter(Boolean);
  }

  choiceList(choices, { steps, agent }) {
    const choose = (name) => () => this.onSteps(writeSteps([...steps, name]));
    const chip = ({ name, label, group, facts, meets }) => {
      const parts = [
        swatch(toneOf(group)),
        shown(label),
        span("count", ` ${facts}`),
        meets ? span("flag", "they meet") : null,
        name === agent ? span("flag agent", "the agent's choice") : null,
      ];
      const attributes = { class: meets ? "step meets" : "step", "data-step": name };
      return choice({ ...attributes, onclick: choose(name) }, ...parts);
    };
    const order = choices.toSorted((a, b) => Number(b.name === agent) - Number(a.name === agent));
    const list = (items) => el("ul", { class: "steps-choices" }, ...items.map(chip));
    const rest = order.slice(SHOWN);
    return el(
      "div",
      {},
      list(order.slice(0, SHOWN)),
      rest.length
        ? el("details", {}, el("summary", {}, counted(rest.length, "more choice")), list(rest))
        : null,
    );
  }
}

export function meetingText(meeting, subject, object) {
  const others = meeting.filter((name) => name !== subject && name !== object).map(shown);
  if (!others.length) return ": one side reaches the other";
  return ` in ${others.slice(0, 4).join(", ")}${others.length > 4 ? " and others" : ""}`;
}

export function openText(over, left, count) {
  if (over) return "No steps are left, and the sides have not met. Go back and try another path.";
  if (!count) return `There is nothing to follow${timely(" near in time")}.`;
  return (
    "Who connects the pair? " +
    `Choose the kind of event that both sides follow, along their facts${timely(" nearest in time")}, until they meet. ` +
    `${counted(left, "step")} left.`
  );
}
