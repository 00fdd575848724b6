// The first screen: one question with its answer drawn, and more of them as cards.

import { getReady } from "./api.js";
import { byId, el } from "./dom.js";
import { Ribbon, showLegend } from "./ribbon.js";
import { tonesOf } from "./ribbon_shape.js";
import { addressOf } from "./state.js";
import { percent, shown, timely } from "./wording.js";

const tone = ({ group }) => `tone-${tonesOf([{ name: group ?? "other" }])[0]}`;
const stateOf = ({ subject, object, time, view }) => ({ subject, object, time, view });

const showWait = () => {
  byId("samples-wait").hidden = false;
};

export class FirstScreen {
  constructor(axis, { onAsk }) {
    this.axis = axis;
    this.onAsk = onAsk;
  }

  async show(signal) {
    if (this.questions) return;
    const { questions, note } = await getReady("/api/questions", {}, signal, showWait);
    if (signal.aborted) return;
    byId("samples-note").textContent = note;
    byId("samples-wait").hidden = true;
    const [first, ...others] = questions;
    byId("samples").replaceChildren(...others.map((question) => this.card(question)));
    byId("samples-title").hidden = others.length === 0;
    if (first) await this.hero(first);
    this.questions = questions; // all of it is there
  }

  link(question, attributes, ...children) {
    const state = stateOf(question);
    const open = (event) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      this.onAsk(state);
    };
    return el("a", { href: addressOf(state), onclick: open, ...attributes }, ...children);
  }

  card(question) {
    const { subject, object, time, label, probability } = question;
    return this.link(
      question,
      { class: `sample card ${tone(question)}` },
      el("span", { class: "who" }, `${shown(subject)} → ${shown(object)}`),
      el("span", { class: "soft" }, timely(time)),
      el("span", { class: "what" }, shown(label)),
      el("span", { class: "share" }, percent(probability)),
      el(
        "span",
        { class: "meter-line" },
        el("span", { style: { width: `${100 * probability}%` } }),
      ),
    );
  }

  async hero(question) {
    const { subject, object, time, label, probability } = question;
    const { timeless } = this.axis;
    const frame = el("div", { class: "ribbon-frame still", "aria-hidden": "true" });
    const legend = el("ul", { class: "legend" });
    const words = el("span", { class: "soft" }, "Height is probability, dots are real events.");
    const key = el("div", { class: "hero-key" }, legend, words);
    byId("hero").hidden = false;
    byId("hero").replaceChildren(
      this.link(
        question,
        { class: `hero-link ${tone(question)}`, id: "hero-link" },
        timeless ? null : el("span", { class: "soft" }, `${time} · from what was known before`),
        el(
          "span",
          { class: "hero-question" },
          `What would ${shown(subject)} do to ${shown(object)}?`,
        ),
        el(
          "span",
          { class: "hero-answer" },
          el("b", {}, shown(label)),
          el("b", { class: "share" }, percent(probability)),
          el("span", { class: "came-true" }, "so it was recorded"),
        ),
        timeless ? null : frame,
        timeless ? null : key,
        el(
          "span",
          { class: "hero-more" },
          timely(`See why, and drag the ${this.axis.word} →`, "See why →"),
        ),
      ),
    );
    if (timeless) return;
    const still = new Ribbon(frame, this.axis, { onDay: null, onSpan: null, still: true });
    const { layers } = await still.load(question, { view: "ahead", span: null });
    showLegend(legend, layers);
  }
}
