// Lists as tables that can be searched, and sorted by clicking on column headers.

import { button, byId, el, soft } from "./dom.js";

const { d3 } = globalThis;
const SHOWN = 60; // number of rows; a file contains all of them

// Sorts rows by a column: texts alphabetically, numbers by value.
export function sortedBy(rows, value, down) {
  const sign = down ? -1 : 1;
  return rows.toSorted((a, b) => sign * d3.ascending(value(a), value(b)));
}

// Whether the names in a row contain all words.
export function isWanted({ subject, object }, words) {
  const names = `${subject} ${object}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => names.includes(word));
}

// A table row. columns: title, value(row), cell(row, value) for more than a text, soft
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

// A plain table without sorting.
export function plainTable(rows, columns, label) {
  const heads = columns.map(({ title }) => el("th", { scope: "col", class: "soft" }, title));
  return framed(heads, el("tbody", {}, ...rows.map((row) => rowOf(row, columns))), label);
}

// Shows a list, initially in the order of its rows. tools, files: controls before and after the
// search field; none: the text for an empty list
export function showList(title, about, { rows, columns, tools, files, none }) {
  let [by, down, words] = [-1, true, ""];
  const body = el("tbody", {});
  const count = el("span", { class: "soft", role: "status" });
  const heads = columns.map(({ value, title: name }, place) => {
    const sort = () => {
      down = place === by ? !down : rows.some((row) => typeof value(row) === "number");
      by = place;
      fill();
    };
    return el("th", { scope: "col" }, button(name, sort, { class: null }));
  });
  const fill = () => {
    const found = rows.filter((row) => isWanted(row, words));
    const listed = by < 0 ? found : sortedBy(found, columns[by].value, down);
    body.replaceChildren(...listed.slice(0, SHOWN).map((row) => rowOf(row, columns)));
    count.textContent = `${Math.min(listed.length, SHOWN)} of ${rows.length}`;
    for (const [place, head] of heads.entries()) {
      const direction = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", place === by ? direction : "none");
    }
  };
  const search = {
    type: "search",
    placeholder: "Find in the list",
    "aria-label": "Find in the list",
    oninput: ({ target }) => {
      words = target.value;
      fill();
    },
  };
  fill();
  byId("list").replaceChildren(
    el("h1", {}, title),
    el("p", { class: "soft lede" }, about),
    el("div", { class: "list-tools" }, ...tools, el("input", search), ...files, count),
    rows.length ? framed(heads, body, "The list") : soft(none),
  );
}
