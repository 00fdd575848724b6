// The two lists: pairs to watch, and facts that look wrong. Each row opens its question.

import { getReady } from "./api.js";
import { byId, el, waiting } from "./dom.js";
import { tonesOf } from "./ribbon_shape.js";
import { addressOf } from "./state.js";
import { counted, percent, shown, timely } from "./wording.js";

const { d3 } = globalThis;
const FINDINGS = { predicate: "predicate", direction: "direction", interval: "dates" };
const tone = (group) => `tone-${tonesOf([{ name: group ?? "other" }])[0]}`;

const comparing = () => "The chances of all pairs that have met are compared with those before.";
const judging = ({ facts }) =>
  `The model is asked about each of ${facts.toLocaleString("en")} facts, with the fact itself hidden.`;

export class ListPages {
  constructor(axis, { onAsk }) {
    this.axis = axis;
    this.onAsk = onAsk;
  }

  async show(page, signal) {
    byId("list").replaceChildren(el("p", { class: "empty" }, "Looking …"));
    const work = page === "watch" ? this.showWatch(signal) : this.showAudit(signal);
    await work.catch((problem) => {
      if (!signal.aborted) byId("list").replaceChildren();
      throw problem;
    });
  }

  link(state, ...children) {
    const open = (event) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      this.onAsk(state);
    };
    return el("a", { href: addressOf(state), onclick: open }, ...children);
  }

  async showWatch(signal) {
    const [steps] = this.axis.windows;
    const found = await this.whole("/api/watch", { steps, limit: 60 }, signal, comparing);
    if (signal.aborted) return;
    const { rows, first, last } = found;
    const window = windowText(found);
    const when = first === last ? first : `${first} to ${last}`;
    const columns = [
      { title: "Pair", value: (row) => row.subject, text: true },
      { title: "Facts so far", value: (row) => d3.sum(row.past) },
      { title: "Chance", value: (row) => row.probability },
      { title: "Change", value: (row) => row.change },
      { title: "Most probable", value: (row) => row.predicates[0].label, text: true },
      { title: "What changed", value: (row) => row.reason, text: true },
    ];
    const cells = (row) => [
      el(
        "th",
        { scope: "row" },
        this.link(
          { subject: row.subject, object: row.object, time: first },
          `${shown(row.subject)} – ${shown(row.object)}`,
        ),
      ),
      el("td", {}, sparkline(row.past, window)),
      el("td", { class: "number" }, el("b", {}, percent(row.probability)), chanceBar(row)),
      el("td", { class: `number ${row.change < 0 ? "falls" : "rises"}` }, changeText(row.change)),
      el(
        "td",
        {},
        ...row.predicates
          .slice(0, 2)
          .map((each, place) =>
            el(
              "p",
              {},
              el("span", { class: `swatch ${tone(row.groups[place])}` }),
              `${shown(each.label)} ${percent(each.probability)}`,
              el("span", { class: "soft" }, ` ${shown(each.subject)} →`),
            ),
          ),
      ),
      el("td", { class: "soft" }, shown(row.reason)),
    ];
    byId("list").replaceChildren(
      el("h1", {}, "Watch list"),
      el(
        "p",
        { class: "soft lede" },
        `The pairs whose chance of anything changes most in the next ${window} (${when}), compared with the forecast for the ${window} before. The bars count the facts of each ${window} until then.`,
      ),
      sortable(rows, columns, cells, 3),
    );
  }

  // A list, asked for until it is there. wordsOf(found): what is being done meanwhile.
  whole(path, values, signal, wordsOf) {
    const tell = (found) => {
      const words = `${wordsOf(found)} This takes a moment, once.`;
      byId("list").replaceChildren(el("p", { class: "empty", role: "status" }, words));
    };
    return waiting([byId("list")], getReady(path, values, signal, tell));
  }

  async showAudit(signal) {
    const found = await this.whole("/api/audit", {}, signal, judging);
    if (signal.aborted) return;
    const columns = [
      { title: "Fact", value: (row) => row.subject, text: true },
      ...timely([{ title: "When", value: (row) => row.time, text: true }], []),
      { title: "Suspicion", value: (row) => row.suspicion },
      { title: "What looks wrong", value: (row) => row.finding, text: true },
      { title: "Why", value: (row) => row.reason, text: true },
    ];
    const cells = (row) => [
      el(
        "th",
        { scope: "row" },
        el("span", { class: `swatch ${tone(row.group)}` }),
        this.link(
          { subject: row.subject, object: row.object, time: row.time, predicate: row.predicate },
          `${shown(row.subject)} · ${shown(row.label)} · ${shown(row.object)}`,
        ),
      ),
      timely(el("td", { class: "when" }, row.date), null),
      el(
        "td",
        { class: "number" },
        el("b", {}, percent(row.suspicion)),
        chanceBar({ probability: row.suspicion }),
      ),
      el("td", {}, findingText(row)),
      el("td", { class: "soft" }, shown(row.reason)),
    ];
    byId("list").replaceChildren(
      el("h1", {}, "Facts that look wrong"),
      el(
        "p",
        { class: "soft lede" },
        `The ${found.rows.length} least plausible of ${found.facts.toLocaleString("en")} facts. Suspicion is the probability that something is wrong, if one in a hundred facts is. A rare event can be true and look wrong.`,
      ),
      sortable(found.rows, columns, cells, timely(2, 1)),
    );
  }
}

export function findingText({ finding, expected_label: label, expected_probability: share }) {
  if (finding === "predicate") return `rather ${shown(label)} (${percent(share)})`;
  return finding === "direction" ? "the other direction" : FINDINGS[finding];
}

export const changeText = (change) =>
  Math.abs(change) < 0.005
    ? "0 points"
    : `${change < 0 ? "▼ −" : "▲ +"}${Math.abs(100 * change).toFixed(0)} points`;

const chanceBar = ({ probability }) =>
  el(
    "span",
    { class: "track" },
    el("span", { class: "fill", style: { width: `${100 * probability}%` } }),
  );

// A window in words: week, year, 24 hours.
export function windowText({ length, unit }) {
  if (unit === "day" && length === 7) return "week";
  return length === 1 ? unit : counted(length, unit);
}

// The facts of past windows as bars.
function sparkline(past, window) {
  const [width, height] = [104, 24];
  const most = Math.max(...past, 1);
  const step = width / past.length;
  const svg = d3
    .create("svg")
    .attr("class", "spark")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("width", width)
    .attr("height", height)
    .attr("role", "img")
    .attr("aria-label", `${d3.sum(past)} facts, ${past.at(-1)} of them in the last ${window}`);
  svg
    .selectAll("rect")
    .data(past)
    .join("rect")
    .attr("x", (_, place) => place * step)
    .attr("width", step - 1)
    .attr("y", (count) => height - Math.max((count / most) * height, count ? 2 : 0.6))
    .attr("height", (count) => Math.max((count / most) * height, count ? 2 : 0.6));
  return svg.node();
}

// Rows in the order of a column: of a text by its letters, of a number by its size without a sign.
export function sortedBy(rows, { value, text = false }, down) {
  const sign = down ? -1 : 1;
  const key = (row) => (text ? value(row) : Math.abs(value(row)));
  return rows.toSorted((a, b) => sign * d3.ascending(key(a), key(b)));
}

// A table that can be sorted by the heads of its columns. order: the column by which it is.
function sortable(rows, columns, cells, order) {
  const body = el("tbody", {});
  const heads = columns.map(({ title }, place) =>
    el("th", { scope: "col" }, el("button", { type: "button", onclick: () => sort(place) }, title)),
  );
  let [by, down] = [order, true];
  const fill = () => {
    const sorted = sortedBy(rows, columns[by], down);
    body.replaceChildren(...sorted.map((row) => el("tr", {}, ...cells(row))));
    for (const [place, head] of heads.entries()) {
      const direction = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", place === by ? direction : "none");
    }
  };
  const sort = (place) => {
    down = place === by ? !down : !columns[place].text;
    by = place;
    fill();
  };
  fill();
  return el(
    "div",
    { class: "table-frame card", tabindex: 0, role: "region", "aria-label": "The list" },
    el("table", { class: "list" }, el("thead", {}, el("tr", {}, ...heads)), body),
  );
}
