// The search: words in names and events find pairs to ask about ("korea visit").

import { get } from "./api.js";
import { Combobox, highlighted, lead } from "./combobox.js";
import { span, swatch } from "./dom.js";
import { toneOf } from "./ribbon_shape.js";
import { counted, shown, timely } from "./wording.js";

export class QuestionSearch extends Combobox {
  constructor(container, { onAsk }) {
    super(container, {
      id: "search",
      label: "Search",
      placeholder: "Names and events",
      required: false,
    });
    this.onAsk = onAsk;
  }

  /** @override */
  async find(typed, signal) {
    if (!typed.trim()) return { questions: [], names: [] };
    return get("/api/questions", { q: typed, limit: 8 }, signal);
  }

  /**
   * @override
   * @param {any} found
   * @param {string} typed
   */
  offer({ questions, names }, typed) {
    if (!typed.trim()) {
      this.close();
      return;
    }
    this.found = typed;
    const words = names.length
      ? "No events match all of these words. Matching names:"
      : "No matching events. Try a name, or another word.";
    const all = [...questions, ...names.map(({ name, facts }) => ({ actor: name, facts }))];
    this.open(
      all.map((found, index) => this.option(found, index, typed)),
      questions.length ? null : lead(words),
    );
  }

  /** @override */
  handleKey(event) {
    if (event.key === "Enter" && this.active < 0) this.chooseFirst();
    else super.handleKey(event);
  }

  // Selects the first question that matches the words, once it is available.
  async chooseFirst() {
    clearTimeout(this.timer);
    const isFound = () => this.options.length && this.found === this.value;
    if (!isFound()) await this.suggest();
    if (isFound()) this.choose(this.options[0].choice);
  }

  option(question, index, typed) {
    const { actor, facts } = question;
    if (actor) {
      const name = span("name", "All about ", ...highlighted(shown(actor), typed));
      return this.row(index, question, name, span("count", counted(facts, "fact")));
    }
    return this.row(
      index,
      question,
      swatch(toneOf(question.group)),
      span("name", ...highlighted(shown(question.sentence), typed)),
      span("count", counted(question.facts, "fact") + timely(`, last ${question.time}`)),
    );
  }

  choose({ actor, subject, object, time, predicate }) {
    this.value = "";
    this.input.blur();
    const page = { page: "actor", subject: actor, object: null, time: null };
    this.onAsk({ ...(actor ? page : { subject, object, time, predicate }), view: null });
  }
}
