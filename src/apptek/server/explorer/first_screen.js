// The first screen: one question with its answer drawn, and more questions as cards.

import { get } from "./api.js";
import { byId, el, questionLink, span, toned, track, waiting } from "./dom.js";
import { Ribbon, showLegend } from "./ribbon.js";
import { toneOf } from "./ribbon_shape.js";
import { percent, shown, timely } from "./wording.js";

const stateOf = ({ subject, object, time, view }) => ({ subject, object, time, view });

export class FirstScreen {
  constructor(axis, { onAsk }) {
    this.axis = axis;
    this.onAsk = onAsk;
  }

  async show(_, signal) {
    if (this.questions) return;
    const { questions, note } = await waiting([byId("welcome")], get("/api/questions", {}, signal));
    if (signal.aborted) return;
    byId("samples-note").textContent = note;
    const [first, ...others] = questions;
    byId("samples").replaceChildren(...others.map((question) => this.card(question)));
    byId("samples-title").hidden = others.length === 0;
    if (first) await this.hero(first);
    this.questions = questions; // everything has arrived
  }

  link(question, attributes, ...children) {
    return questionLink(stateOf(question), this.onAsk, attributes, ...children);
  }

  card(question) {
    const { subject, object, time, label, probability } = question;
    return this.link(
      question,
      { class: "sample card", style: toned(toneOf(question.group)) },
      span("who", `${shown(subject)} → ${shown(object)}`),
      span("soft", timely(time)),
      span("what", shown(label)),
      span("share", percent(probability)),
      track(probability, "tone"),
    );
  }

  async hero(question) {
    const { subject, object, time, label, probability } = question;
    const { timeless } = this.axis;
    const frame = el("div", { class: "ribbon-frame still", "aria-hidden": "true" });
    const legend = el("ul", { class: "legend" });
    const about = span("soft", "Height is probability, dots are real events.");
    const key = el("div", { class: "hero-key" }, legend, about);
    const words = `What would ${shown(subject)} do to ${shown(object)}?`;
    const more = timely(`See why, and drag the ${this.axis.word} →`, "See why →");
    byId("hero").hidden = false;
    byId("hero").replaceChildren(
      this.link(
        question,
        { class: "hero-link", id: "hero-link" },
        timeless ? null : span("soft", `${time} · from earlier facts only`),
        span("hero-question", words),
        span(
          "hero-answer",
          el("b", {}, shown(label)),
          el("b", { class: "share" }, percent(probability)),
          span("flag", "correct: this happened"),
        ),
        timeless ? null : frame,
        timeless ? null : key,
        span("hero-more", more),
      ),
    );
    if (timeless) return;
    const still = new Ribbon(frame, this.axis, { onDay: null, onSpan: null, still: true });
    showLegend(legend, await still.load(question, { view: "past_only", span: null }));
  }
}
