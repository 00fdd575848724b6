// A pair's forecast: the chance that something happens in the next days, by class, and why.

import { post } from "./api.js";
import { all, byId, el, put, set, soft, span, toned, track, waiting } from "./dom.js";
import { noteTexts } from "./notices.js";
import { tonesOf } from "./ribbon_shape.js";
import { counted, percent, shown } from "./wording.js";

const { d3 } = globalThis;
const [SHOWN, TOP] = [5, 60]; // number of predicates to list and to fetch
const [CURVE_WIDTH, CURVE_HEIGHT] = [300, 56];

export class ForecastPanel {
  // onLength(steps): show a window of that length.
  constructor(axis, onLength) {
    this.axis = axis;
    for (const [place, button] of all("[data-window]").entries()) {
      const length = axis.windows[place];
      button.dataset.window = length;
      button.textContent = counted(length, axis.word);
      button.addEventListener("click", () => onLength(button.dataset.window));
    }
  }

  // Hides what is shown or being loaded, because it belongs to an earlier question.
  expire() {
    this.fetching?.abort();
    for (const id of ["forecast", "occurrence"]) byId(id).classList.add("stale");
  }

  // Loads the forecast for a query. steps: the length of its window; by default the short one.
  load(query, steps) {
    this.expire();
    this.fetching = new AbortController();
    return this.fetch(query, windowOf(this.axis, steps), this.fetching.signal);
  }

  async fetch({ time, ...pair }, length, signal) {
    const from = startOf(this.axis, time);
    for (const button of all("[data-window]")) {
      button.setAttribute("aria-pressed", String(button.dataset.window === String(length)));
    }
    const body = { ...pair, top: TOP, steps: length, ...(from && { from }) };
    const request = post("/api/forecast", body, signal);
    const forecast = await waiting([byId("forecast-card")], request).catch((problem) => {
      if (problem.status !== 422) throw problem;
      return { problem };
    });
    if (signal.aborted) return;
    this.show(forecast);
  }

  show(/** @type {any} */ forecast) {
    const { problem } = forecast;
    for (const id of ["forecast", "occurrence"]) byId(id).classList.remove("stale");
    byId("occurrence").replaceChildren(...(problem ? [] : chanceWords(forecast)));
    byId("forecast").replaceChildren(...(problem ? [soft(problem.detail)] : this.parts(forecast)));
  }

  parts(/** @type {any} */ forecast) {
    const { probability, expected, first, last, length, unit } = forecast;
    const classes = forecast.by_group.length ? forecast.by_group : forecast.by_class.slice(0, 6);
    const tones = tonesOf(classes);
    const when = first === last ? first : `${first} to ${last}`;
    const known = this.axis.position(first) <= this.axis.last_position;
    const bars = classes.map(({ name, probability: chance }, place) =>
      el(
        "li",
        { class: "share-row", style: toned(tones[place]) },
        span("name", shown(name)),
        span("value", percent(chance)),
        track(chance, "tone"),
      ),
    );
    const chances = forecast.predicates
      .slice(0, SHOWN)
      .map((each) =>
        el(
          "li",
          {},
          el(
            "span",
            {},
            shown(each.label),
            span("soft", ` ${shown(each.subject)} → ${shown(each.object)}`),
          ),
          el("b", {}, percent(each.probability)),
        ),
      );
    return [
      soft(`${counted(length, unit)}: ${when}. ${known ? `Based on facts before ${first}.` : ""}`),
      el(
        "p",
        { class: "chance" },
        el("b", {}, percent(probability)),
        el("span", {}, " that something happens"),
        span("soft", expectedText(expected)),
      ),
      curveOf(forecast.curve),
      forecast.next_event ? soft(nextText(forecast.next_event, unit)) : null,
      forecast.what_if ? el("p", { class: "supposing" }, shown(forecast.what_if.sentence)) : null,
      el("ul", {}, ...bars),
      el("h3", {}, "At least once"),
      el("ol", { class: "chances" }, ...chances),
      reasonsOf(forecast),
      ...noteTexts(forecast.notes, "forecast").map((text) => soft(text)),
    ].filter(Boolean);
  }
}

// The chance that something happens at all, next to an answer that assumes it.
export const chanceWords = ({ probability, length, unit, first }) => [
  el("b", {}, percent(probability)),
  ` that something happens within ${counted(length, unit)}`,
  span("soft", ` from ${first}`),
];

// When the next event comes, in half of the cases.
export function nextText({ median, median_time: until, longest }, unit) {
  if (median === null) return `Next event: probably more than ${counted(longest, unit)} away.`;
  return `Next event: within ${counted(median, unit)} in half of similar cases (by ${until}).`;
}

// The length of the window in steps: the long one if requested, otherwise the short one.
export function windowOf({ windows: [short, long] }, steps) {
  return steps === String(long) ? long : short;
}

// The window begins at the query's time; null: after the last fact.
export function startOf(axis, time) {
  const at = axis.position(time);
  return at !== null && at > axis.first_position ? time : null;
}

const RARE = 0.001; // expected facts; below this, a number of windows is easier to understand

// The expected number of facts in a window, worded as on the command line.
export function expectedText(expected) {
  if (expected < RARE) {
    const windows = Number((1 / Math.max(expected, 1e-12)).toPrecision(2));
    return `one fact in about ${windows.toLocaleString("en")} windows of this length`;
  }
  if (expected >= 9.5) return `about ${Math.round(expected)} facts`;
  const digits = expected < 0.05 ? String(Number(expected.toPrecision(2))) : expected.toFixed(1);
  return digits === "1.0" ? "about 1 fact" : `about ${digits} facts`;
}

// The chance that something happens by each day of the window.
function curveOf(curve) {
  if (curve.length < 2) return null;
  const x = (_, place) => (place / (curve.length - 1)) * CURVE_WIDTH;
  const y = ({ probability }) => CURVE_HEIGHT - 2 - probability * (CURVE_HEIGHT - 6);
  const [low, high] = [curve[0], curve.at(-1)].map((point) => percent(point.probability));
  const svg = set(d3.create("svg"), {
    class: "chance-curve",
    viewBox: `0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`,
    role: "img",
    "aria-label": `The chance that something happens rises from ${low} to ${high}`,
  });
  const area = d3
    .area()
    .x(x)
    .y0(CURVE_HEIGHT - 2)
    .y1(y)
    .curve(d3.curveMonotoneX);
  put(svg, "path", { class: "under", d: area(curve) });
  put(svg, "path", { class: "over", d: area.lineY1()(curve) });
  const ends = [curve[0], curve.at(-1)].map(({ until }) => el("span", {}, until));
  return el("figure", {}, svg.node(), el("figcaption", { class: "soft" }, ...ends));
}

function reasonsOf({ directions }) {
  const lines = directions.flatMap(({ subject, object, probability, reasons }) => [
    el("h4", {}, `${shown(subject)} → ${shown(object)}: ${percent(probability)}`),
    el(
      "ul",
      {},
      ...reasons
        .slice(0, 4)
        .map(({ sentence, log_odds: value }) =>
          el("li", { class: value < 0 ? "minus" : "plus" }, shown(sentence)),
        ),
    ),
  ]);
  return el("details", { class: "forecast-why" }, el("summary", {}, "Why this chance"), ...lines);
}
