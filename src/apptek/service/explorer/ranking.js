// The ranked predicates as bars; one of them is selected.

import { byId, el, replaceChoices } from "./dom.js";
import { counted, percent, shown } from "./wording.js";

const FIRST = 10;

export class Ranking {
  constructor({ onSelect }) {
    this.onSelect = onSelect;
    byId("more").addEventListener("click", () => this.drawAll());
  }

  show(predicates, { hide, selected }) {
    Object.assign(this, { predicates, hide, selected });
    this.draw();
  }

  // What is left when known predicates are hidden.
  visible() {
    return this.predicates.filter(({ known }) => !(this.hide && known));
  }

  draw({ all = false } = {}) {
    const visible = this.visible();
    const most = Math.max(...visible.map(({ probability }) => probability), 1e-9);
    const some = all ? visible : visible.filter((one, place) => place < FIRST || one.predicate === this.selected);
    replaceChoices(byId("bars"), some.map((one) => this.row(one, most)));
    const hidden = this.predicates.length - visible.length;
    const rest = visible.length - some.length;
    byId("more").hidden = rest === 0;
    byId("more").textContent = `Show ${rest} more`;
    byId("bars").toggleAttribute("data-empty", visible.length === 0);
    byId("ranking-title").textContent = hidden ? `Most probable predicates (${counted(hidden, "known one")} hidden)` : "Most probable predicates";
  }

  // The button goes away, so the first new row gets its focus.
  drawAll() {
    this.draw({ all: true });
    byId("bars").children[FIRST]?.querySelector("button").focus();
  }

  row({ predicate, probability, known }, most) {
    const chosen = predicate === this.selected;
    return el("li", {},
      el("button", { type: "button", class: "bar", "aria-pressed": String(chosen), onclick: () => this.onSelect(predicate) },
        el("span", { class: "name" }, shown(predicate), known ? el("span", { class: "tag", title: "The training facts have it at that time" }, "known") : null),
        el("span", { class: "value" }, percent(probability)),
        el("span", { class: "track" }, el("span", { class: "fill", style: { width: `${(100 * probability) / most}%` } }))));
  }
}
