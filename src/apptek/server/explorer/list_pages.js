// The two lists: pairs to watch, and facts that look wrong. Each row opens its question.

import { getReady } from "./api.js";
import { button, byId, el, questionLink, set, span, swatch, track, waiting } from "./dom.js";
import { save } from "./export.js";
import { windowOf } from "./forecast.js";
import { toneOf } from "./ribbon_shape.js";
import { counted, percent, shown, timely } from "./wording.js";

const { d3 } = globalThis;
const FINDINGS = { predicate: "predicate", direction: "direction", interval: "dates" };
const SHOWN = 60; // rows; a file has all of them
const DIRECTIONS = { rising: (row) => row.change > 0, falling: (row) => row.change < 0 };

const comparing = () => "The chances of all pairs are compared with those before.";
const judging = ({ facts }) =>
  `Each of ${facts.toLocaleString("en")} facts is hidden in turn and predicted from the others.`;

export class ListPages {
  // onLength(steps): a watch list of windows of that length is to be shown.
  constructor(axis, { onAsk, onLength }) {
    this.axis = axis;
    this.onAsk = onAsk;
    this.onLength = onLength;
  }

  // steps: the length of the window in the address
  async show(page, steps, signal) {
    byId("list").replaceChildren(el("p", { class: "empty" }, "Looking …"));
    const length = windowOf(this.axis, steps);
    const work = page === "watch" ? this.showWatch(length, signal) : this.showAudit(signal);
    await work.catch((problem) => {
      if (!signal.aborted) byId("list").replaceChildren();
      throw problem;
    });
  }

  // A list, asked for until it is there. wordsOf(found): what is being done meanwhile.
  whole(path, values, signal, wordsOf) {
    const tell = (found) => {
      const words = `${wordsOf(found)} This takes a moment, once.`;
      byId("list").replaceChildren(el("p", { class: "empty", role: "status" }, words));
    };
    return waiting([byId("list")], getReady(path, values, signal, tell));
  }

  async showWatch(steps, signal) {
    const found = await this.whole("/api/watch", { steps, limit: 200 }, signal, comparing);
    if (signal.aborted) return;
    const { rows, first, last } = found;
    const window = windowText(found);
    const when = first === last ? first : `${first} to ${last}`;
    const columns = [
      {
        title: "Pair",
        value: (row) => `${shown(row.subject)} – ${shown(row.object)}`,
        cell: (row, name) => {
          const state = { subject: row.subject, object: row.object, time: first };
          return [questionLink(state, this.onAsk, {}, name)];
        },
      },
      {
        title: "Facts so far",
        value: (row) => d3.sum(row.past),
        cell: (row) => [sparkline(row.past, window)],
      },
      { title: "Chance", value: (row) => row.probability, cell: chanceCell },
      {
        title: "Change",
        value: (row) => row.change,
        cell: (row) => [
          el("span", { class: row.change < 0 ? "falls" : "rises" }, changeText(row.change)),
        ],
      },
      {
        title: "Most probable",
        value: (row) => row.predicates[0]?.label ?? "",
        cell: (row) => row.predicates.slice(0, 2).map((each, place) => likely(row, each, place)),
      },
      { title: "What changed", value: (row) => shown(row.reason), soft: true },
    ];
    const lengths = this.axis.windows.map((length) =>
      button(counted(length, this.axis.word), () => this.onLength(String(length)), {
        class: "segment",
        "aria-pressed": String(length === steps),
      }),
    );
    showList(
      "Watch list",
      `The pairs whose chance that something happens changes most in the next ${window} (${when}), compared with the forecast for the ${window} before. The bars count the facts of each ${window} until then.`,
      el("div", { class: "views small", role: "group", "aria-label": "Length" }, ...lengths),
      { rows, columns, order: 3, groupsOf: (row) => row.groups.slice(0, 2), filters: DIRECTIONS },
    );
  }

  async showAudit(signal) {
    const found = await this.whole("/api/audit", {}, signal, judging);
    if (signal.aborted) return;
    const { rows } = found;
    const columns = [
      {
        title: "Fact",
        value: (row) => `${shown(row.subject)} · ${shown(row.label)} · ${shown(row.object)}`,
        cell: (row, name) => {
          const { subject, object, since: time, predicate } = row;
          const link = questionLink({ subject, object, time, predicate }, this.onAsk, {}, name);
          return [swatch(toneOf(row.group)), link];
        },
      },
      ...timely([{ title: "When", value: (row) => row.date }], []),
      {
        title: "Suspicion",
        value: (row) => row.suspicion,
        cell: ({ suspicion: probability }) => chanceCell({ probability }),
      },
      { title: "What looks wrong", value: findingText },
      { title: "Why", value: (row) => shown(row.reason), soft: true },
    ];
    showList(
      "Facts that look wrong",
      `The ${rows.length} least plausible of ${found.facts.toLocaleString("en")} facts. Suspicion is the probability that something is wrong, if one in a hundred facts is. A rare event can be true and look wrong.`,
      null,
      { rows, columns, order: timely(2, 1), groupsOf: (row) => [row.group], filters: {} },
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

const chanceCell = ({ probability }) => [el("b", {}, percent(probability)), track(probability)];

const likely = (row, { label, probability, subject }, place) =>
  el(
    "p",
    {},
    swatch(toneOf(row.groups[place])),
    `${shown(label)} ${percent(probability)}`,
    span("soft", ` ${shown(subject)} →`),
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
  const tall = (count) => Math.max((count / most) * height, count ? 2 : 0.6);
  const svg = set(d3.create("svg"), {
    class: "spark",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `${d3.sum(past)} facts, ${past.at(-1)} of them in the last ${window}`,
  });
  set(svg.selectAll("rect").data(past).join("rect"), {
    x: (_, place) => place * step,
    width: step - 1,
    y: (count) => height - tall(count),
    height: tall,
  });
  return svg.node();
}

// Rows in the order of a column: texts by their letters, numbers by their size without a sign.
export function sortedBy(rows, value, down) {
  const sign = down ? -1 : 1;
  const key = (row) => (typeof value(row) === "number" ? Math.abs(value(row)) : value(row));
  return rows.toSorted((a, b) => sign * d3.ascending(key(a), key(b)));
}

// A cell of a file for spreadsheets. No text may be taken for a formula.
function cellText(value) {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@]/.test(value) ? `'${value}` : value;
  return `"${safe.replaceAll('"', '""')}"`;
}

export function csvOf(rows, columns) {
  const lines = [
    columns.map(({ title }) => cellText(title)),
    ...rows.map((row) => columns.map(({ value }) => cellText(value(row)))),
  ];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

// Whether a row has the words in its names, and is of the kind that is wanted ("": of any).
export function isWanted(row, { words, kind, filter }, { groupsOf, filters }) {
  const names = `${row.subject} ${row.object}`.toLowerCase();
  const parts = words.toLowerCase().split(/\s+/);
  return (
    parts.every((part) => names.includes(part)) &&
    (!kind || groupsOf(row).includes(kind)) &&
    (!filter || filters[filter](row))
  );
}

const choice = (label, values, onchange) =>
  el(
    "select",
    { "aria-label": label, onchange },
    el("option", { value: "" }, label),
    ...values.map((value) => el("option", { value }, shown(value))),
  );

// Shows a table that can be filtered, sorted by the heads of its columns, and saved.
// order: the column by which it is sorted at first
function showList(title, about, tools, { rows, columns, order, groupsOf, filters }) {
  const wanted = { words: "", kind: "", filter: "" };
  let [by, down, listed] = [order, true, rows];
  const body = el("tbody", {});
  const heads = columns.map((column, place) => {
    const sort = () => {
      down = place === by ? !down : rows.some((row) => typeof column.value(row) === "number");
      by = place;
      fill();
    };
    return el("th", { scope: "col" }, button(column.title, sort, { class: null }));
  });
  const rowOf = (row) => {
    const cells = columns.map(({ value, cell = (_, text) => [text], soft, title: label }, place) =>
      el(
        place ? "td" : "th",
        { class: soft ? "soft" : null, scope: place ? null : "row", "data-label": label },
        ...cell(row, value(row)),
      ),
    );
    return el("tr", {}, ...cells);
  };
  const fill = () => {
    const found = rows.filter((row) => isWanted(row, wanted, { groupsOf, filters }));
    listed = sortedBy(found, columns[by].value, down);
    body.replaceChildren(...listed.slice(0, SHOWN).map(rowOf));
    count.textContent = `${Math.min(listed.length, SHOWN)} of ${rows.length}`;
    for (const [place, head] of heads.entries()) {
      const direction = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", place === by ? direction : "none");
    }
  };
  const setting = (key) => (event) => {
    wanted[key] = event.target.value;
    fill();
  };
  const file = () => save(new Blob([csvOf(listed, columns)], { type: "text/csv" }), `${title}.csv`);
  const kinds = [...new Set(rows.flatMap(groupsOf))].filter(Boolean).toSorted();
  const directions = Object.keys(filters);
  const count = el("span", { class: "soft", role: "status" });
  const words = { type: "search", placeholder: "Filter by name", "aria-label": "Filter by name" };
  fill();
  byId("list").replaceChildren(
    el("h1", {}, title),
    el("p", { class: "soft lede" }, about),
    el(
      "div",
      { class: "list-tools" },
      tools,
      el("input", { ...words, oninput: setting("words") }),
      kinds.length ? choice("All kinds", kinds, setting("kind")) : null,
      directions.length ? choice("Rising and falling", directions, setting("filter")) : null,
      button("CSV", file),
      count,
    ),
    el(
      "div",
      { class: "table-frame card", tabindex: 0, role: "region", "aria-label": "The list" },
      el("table", { class: "list" }, el("thead", {}, el("tr", {}, ...heads)), body),
    ),
  );
}
