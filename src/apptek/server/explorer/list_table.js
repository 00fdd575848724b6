// Lists as tables: they can be filtered, sorted by the heads of their columns, and saved.

import { button, byId, el, soft } from "./dom.js";
import { save } from "./export.js";
import { shown } from "./wording.js";

const { d3 } = globalThis;
const SHOWN = 60; // rows; a file has all of them

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
export function isWanted(row, { words, filter }, filters) {
  const names = `${row.subject} ${row.object}`.toLowerCase();
  const parts = words.toLowerCase().split(/\s+/);
  return parts.every((part) => names.includes(part)) && (!filter || filters[filter](row));
}

// A choice among values; the first says that all are wanted.
export const choice = (label, values, onchange) =>
  el(
    "select",
    { "aria-label": label, onchange: ({ target }) => onchange(target.value) },
    el("option", { value: "" }, label),
    ...values.map((value) => el("option", { value }, shown(value))),
  );

// A row of a table. columns: title, value(row), cell(row, value) for more than a text, soft
const rowOf = (row, columns) =>
  el(
    "tr",
    {},
    ...columns.map(({ value, cell = (_, text) => [text], soft: isSoft, title }, place) =>
      el(
        place ? "td" : "th",
        { class: isSoft ? "soft" : null, scope: place ? null : "row", "data-label": title },
        ...cell(row, value(row)),
      ),
    ),
  );

const framed = (heads, body, label) =>
  el(
    "div",
    { class: "table-frame card", tabindex: 0, role: "region", "aria-label": label },
    el("table", { class: "list" }, el("thead", {}, el("tr", {}, ...heads)), body),
  );

// A table as it is, without sorting.
export function plainTable(rows, columns, label) {
  const heads = columns.map(({ title }) => el("th", { scope: "col", class: "soft" }, title));
  return framed(heads, el("tbody", {}, ...rows.map((row) => rowOf(row, columns))), label);
}

// Shows a list. order: the column by which it is sorted at first; filters: kinds of rows by name;
// tools: further controls; files: buttons that save it; none: the text if it is empty
export function showList(title, about, /** @type {any} */ list) {
  const { rows, columns, order, filters, tools = [], files, none } = list;
  const wanted = { words: "", filter: "" };
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
  const fill = () => {
    const found = rows.filter((row) => isWanted(row, wanted, filters));
    listed = sortedBy(found, columns[by].value, down);
    body.replaceChildren(...listed.slice(0, SHOWN).map((row) => rowOf(row, columns)));
    count.textContent = `${Math.min(listed.length, SHOWN)} of ${rows.length}`;
    for (const [place, head] of heads.entries()) {
      const direction = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", place === by ? direction : "none");
    }
  };
  const setting = (key) => (value) => {
    wanted[key] = value;
    fill();
  };
  const file = () => save(new Blob([csvOf(listed, columns)], { type: "text/csv" }), `${title}.csv`);
  const count = el("span", { class: "soft", role: "status" });
  const words = {
    type: "search",
    placeholder: "Find in the list",
    "aria-label": "Find in the list",
  };
  const [all, ...kinds] = Object.keys(filters);
  fill();
  byId("list").replaceChildren(
    el("h1", {}, title),
    el("p", { class: "soft lede" }, about),
    el(
      "div",
      { class: "list-tools" },
      ...tools,
      el("input", { ...words, oninput: ({ target }) => setting("words")(target.value) }),
      kinds.length ? choice(all, kinds, setting("filter")) : null,
      ...(files ?? [button("CSV", file)]),
      count,
    ),
    rows.length ? framed(heads, body, "The list") : soft(none),
  );
}
