// The pairs to watch, and code that the watch list shares with an actor's page. Each row opens its
// question.

import { get, getReady, predicates, saveFrom } from "./api.js";
import { button, byId, el, questionLink, set, span, swatch, track, waiting } from "./dom.js";
import { windowOf } from "./forecast.js";
import { showList } from "./list_table.js";
import { toneOf } from "./ribbon_shape.js";
import { counted, percent, shown } from "./wording.js";

const { d3 } = globalThis;
const LIMIT = 200; // maximum number of pairs that the service lists
const EVENTS = ["group", "class", "predicate"]; // the ways to choose events
const FILTERS = ["entity", "country", ...EVENTS];
const COMPARING =
  "Comparing the chances of all pairs with the previous window. This takes a moment, only once.";

function tellComparing() {
  byId("list").replaceChildren(el("p", { class: "empty", role: "status" }, COMPARING));
}

export class WatchPage {
  // onFilter(state changes): show another list.
  constructor(axis, { onAsk, onFilter }) {
    this.axis = axis;
    this.onAsk = onAsk;
    this.onFilter = onFilter;
  }

  async show(state, signal) {
    byId("list").replaceChildren(el("p", { class: "empty" }, "Looking …"));
    const steps = windowOf(this.axis, state.days);
    const filters = Object.fromEntries(FILTERS.map((name) => [name, state[name]]));
    const asked = { ...filters, steps, limit: LIMIT };
    const list = waiting([byId("list")], getReady("/api/watch", asked, signal, tellComparing));
    const [found, known] = await Promise.all([list, predicates()]).catch((problem) => {
      if (!signal.aborted) byId("list").replaceChildren(...this.wayBack(state));
      throw problem;
    });
    if (signal.aborted) return;
    const [window, what] = [windowText(found), chanceOf(found.event)];
    const { first, last, rows } = found;
    const next = `in the next ${window} (${first === last ? first : `${first} to ${last}`})`;
    const download = (format) => saveFrom("/api/watch", { ...asked, format }, `watch.${format}`);
    showList(
      "Watch list",
      `The pairs whose chance ${what} changes most ${next}, compared with the forecast for the previous ${window}. The bars count the facts in each earlier ${window}.`,
      {
        rows,
        columns: watchColumns(found, groupsOf(known), this.onAsk),
        tools: [lengthChoice(this.axis, steps, this.onFilter), ...this.filterFields(state, known)],
        files: [button("CSV", () => download("csv")), button("Excel", () => download("xlsx"))],
        none: `No chance ${what} changes by one percentage point or more ${next}.`,
      },
    );
  }

  // After a filter without matches, a link to the whole list.
  wayBack(state) {
    const none = Object.fromEntries(FILTERS.map((name) => [name, null]));
    const isFiltered = FILTERS.some((name) => state[name]);
    return isFiltered ? [button("Show the whole list", () => this.onFilter(none))] : [];
  }

  // The filter of the list: an entity, a country, or some events.
  filterFields(state, known) {
    const names = el("datalist", { id: "watch-names" });
    const suggest = async ({ target }) => {
      const found = await get("/api/entities", { q: target.value, limit: 8 });
      names.replaceChildren(...found.entities.map(({ name }) => el("option", { value: name })));
    };
    const field = (name, label, attributes) =>
      el("input", {
        type: "search",
        value: state[name] ?? "",
        placeholder: label,
        "aria-label": label,
        onchange: ({ target }) => this.onFilter({ [name]: target.value.trim() || null }),
        ...attributes,
      });
    return [
      field("entity", "Any entity", { list: "watch-names", oninput: suggest }),
      names,
      field("country", "Any country", { title: "For example, Police (India) is from India" }),
      eventChoice(known, state, this.onFilter),
    ];
  }
}

// The columns of a watch list. groups: the group of each predicate
export function watchColumns(found, groups, onAsk) {
  const window = windowText(found);
  return [
    {
      title: "Pair",
      value: (row) => `${shown(row.subject)} – ${shown(row.object)}`,
      cell: ({ subject, object }, name) => {
        const state = { subject, object, time: found.first };
        return [questionLink(state, onAsk, {}, name)];
      },
    },
    {
      title: "Facts so far",
      value: (row) => d3.sum(row.past),
      cell: (row) => [sparkline(row.past, window)],
    },
    ...chanceColumns(groups),
    { title: "What changed", value: (row) => shown(row.reason), soft: true },
  ];
}

// The chance of an event, its change, and the most probable predicates.
export const chanceColumns = (groups) => [
  { title: "Chance", value: (row) => row.probability, cell: chanceCell },
  {
    title: "Change",
    value: (row) => row.change,
    cell: ({ change }) => [
      el("span", { class: change < 0 ? "falls" : "rises" }, changeText(change)),
    ],
  },
  {
    title: "Most probable",
    value: (row) => row.predicates[0]?.label ?? "",
    cell: (row) => row.predicates.slice(0, 2).map((each) => likely(each, groups)),
  },
];

export const groupsOf = (known) => new Map(known.map(({ name, group }) => [name, group]));

const chanceOf = (event) => (event ? `of ${shown(event)}` : "that something happens");

// A short and a long window to choose from.
export function lengthChoice(axis, steps, onChange) {
  const lengths = axis.windows.map((length) =>
    button(counted(length, axis.word), () => onChange({ days: String(length) }), {
      class: "segment",
      "aria-pressed": String(length === steps),
    }),
  );
  return el("div", { class: "views small", role: "group", "aria-label": "Length" }, ...lengths);
}

// A choice of events: all, a group, a class or a single predicate.
export function eventChoice(known, state, onChange) {
  const namesOf = { predicate: "name" };
  const options = EVENTS.map((level) => {
    const names = new Set(known.map((each) => each[namesOf[level] ?? level]).filter(Boolean));
    const items = [...names].toSorted().map((name) => {
      const attributes = { value: `${level}:${name}`, selected: state[level] === name };
      return el("option", attributes, shown(name));
    });
    return items.length ? el("optgroup", { label: `By ${level}` }, ...items) : null;
  });
  const onchange = ({ target }) => {
    const [, level, name] = /^(\w*):?(.*)$/s.exec(target.value);
    onChange(Object.fromEntries(EVENTS.map((each) => [each, each === level ? name : null])));
  };
  const all = el("option", { value: "" }, "All events");
  return el("select", { "aria-label": "Events", onchange }, all, ...options);
}

export const changeText = (change) =>
  Math.abs(change) < 0.005
    ? "0 points"
    : `${change < 0 ? "▼ −" : "▲ +"}${Math.abs(100 * change).toFixed(0)} points`;

const chanceCell = ({ probability }) => [el("b", {}, percent(probability)), track(probability)];

const likely = ({ predicate, label, probability, subject }, groups) =>
  el(
    "p",
    {},
    swatch(toneOf(groups.get(predicate))),
    `${shown(label)} ${percent(probability)}`,
    span("soft", ` ${shown(subject)} →`),
  );

// A window in words: week, year, 24 hours.
export function windowText({ length, unit }) {
  if (unit === "day" && length === 7) return "week";
  return length === 1 ? unit : counted(length, unit);
}

// The number of facts in past windows, as bars.
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
