// The ranked predicates as bars, one of which is selected.

import { byId, el, replaceChoices } from "./dom.js";
import { counted, labelled, percent, shown } from "./wording.js";

const FIRST = 10; // bars before "Show more"
const CLASSES = 6; // classes and groups that are shown

export class Ranking {
  constructor({ onSelect }) {
    this.onSelect = onSelect;
    byId("more").addEventListener("click", () => this.drawAll());
  }

  show(predicates, { hide, selected }) {
    Object.assign(this, { predicates, hide, selected });
    this.draw();
  }

  // The predicates without those that are hidden.
  visible() {
    return this.predicates.filter(({ known }) => !(this.hide && known));
  }

  draw({ all = false } = {}) {
    const visible = this.visible();
    const most = Math.max(...visible.map(({ probability }) => probability), 1e-9);
    const listed = visible.filter(
      ({ predicate }, index) => all || index < FIRST || predicate === this.selected,
    );
    replaceChoices(
      byId("bars"),
      listed.map((ranked) => this.row(ranked, most)),
    );
    const hidden = this.predicates.length - visible.length;
    const rest = visible.length - listed.length;
    byId("more").hidden = rest === 0;
    byId("more").textContent = `Show ${rest} more`;
    byId("bars").toggleAttribute("data-empty", visible.length === 0);
    byId("ranking-title").textContent = hidden
      ? `Most probable predicates (${counted(hidden, "known one")} hidden)`
      : "Most probable predicates";
  }

  // The button disappears, so the first new row gets its focus.
  drawAll() {
    this.draw({ all: true });
    byId("bars").children[FIRST]?.querySelector("button").focus();
  }

  row({ predicate, label, probability, known }, most) {
    const title = "A known fact has this predicate at that time";
    const tag = known ? el("span", { class: "tag", title }, "known") : null;
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: "bar",
          "aria-pressed": String(predicate === this.selected),
          onclick: () => this.onSelect(predicate),
        },
        el("span", { class: "name" }, labelled(predicate, label), tag),
        el("span", { class: "value" }, percent(probability)),
        el(
          "span",
          { class: "track" },
          el("span", { class: "fill", style: { width: `${(100 * probability) / most}%` } }),
        ),
      ),
    );
  }
}

// The classes and groups of predicates with the sums of their probabilities.
export function showShares({ by_class: classes, by_group: groups }) {
  byId("shares").replaceChildren(
    ...shareList("By group", groups),
    ...shareList("By class", classes),
  );
}

function shareList(title, shares) {
  if (!shares.length) return [];
  const most = Math.max(shares[0].probability, 1e-9);
  const rows = shares
    .slice(0, CLASSES)
    .map(({ name, probability }) =>
      el(
        "li",
        { class: "share-row" },
        el("span", { class: "name" }, shown(name)),
        el("span", { class: "value" }, percent(probability)),
        el(
          "span",
          { class: "track" },
          el("span", { class: "fill", style: { width: `${(100 * probability) / most}%` } }),
        ),
      ),
    );
  return [el("h3", {}, title), el("ol", { class: "bars" }, ...rows)];
}
