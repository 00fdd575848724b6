// The time axis: positions as the service counts them, their texts, and an input field for times.

import { button, el } from "./dom.js";
import { counted } from "./wording.js";

const { d3 } = globalThis;
const DAY = 86_400_000;
// The milliseconds of units with a fixed length; weeks count from Monday, 1969-12-29.
const LENGTHS = { second: 1000, minute: 60_000, hour: 3_600_000, day: DAY, week: 7 * DAY };
const SHOWN = { second: 19, minute: 16, hour: 16 }; // characters of an ISO text; 10 for days
// Words for a time after the last fact, in days.
const AHEAD = { tomorrow: 1, "next day": 1, "next week": 7, "next month": 30, "next year": 365 };
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const LETTER = 7.2; // pixels per letter in a tick label
// A short and a long forecast window, in steps.
const WINDOWS = {
  second: [60, 3600],
  minute: [60, 1440],
  hour: [24, 168],
  day: [7, 30],
  week: [1, 4],
  month: [1, 12],
  year: [1, 5],
  integer: [1, 7],
};

export class Axis {
  /**
   * @param {{unit: string, mixed: boolean, first: string, last: string, first_position: number,
   *   last_position: number, beyond: number, undated: number, timeless: boolean}} span  as the
   *   service describes it, and timeless: no fact is dated
   */
  constructor(span) {
    this.unit = span.unit;
    this.mixed = span.mixed;
    this.first = span.first;
    this.last = span.last;
    this.first_position = span.first_position;
    this.last_position = span.last_position;
    this.undated = span.undated;
    this.timeless = span.timeless;
    this.word = span.unit === "integer" ? "step" : span.unit;
    this.windows = WINDOWS[span.unit];
    this.beyond = span.beyond; // number of steps to show after the last fact
    this.length = LENGTHS[span.unit]; // length of a step in milliseconds, if all are equally long
    this.origin = span.unit === "week" ? -3 * DAY : 0;
  }

  // The text of a position, in the form that the service reads.
  text(position) {
    const whole = Math.round(position);
    if (this.unit === "integer") return String(whole);
    if (this.unit === "year") {
      return whole >= 0 && whole <= 9999 ? String(whole).padStart(4, "0") : `${whole}-##-##`;
    }
    if (this.unit === "month") {
      const [year, month] = [Math.floor(whole / 12), (whole % 12) + 1];
      return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`;
    }
    return this.iso(whole)
      .slice(0, SHOWN[this.unit] ?? 10)
      .replace("T", " ");
  }

  iso(position) {
    return new Date(position * this.length + this.origin).toISOString();
  }

  // The position of a text, or null if the text has none.
  position(text) {
    if (this.unit === "integer") return /^[+-]?\d+$/.test(text) ? Number(text) : null;
    const [date, clock = ""] = text.split(/[T ]/);
    const match = /^"?(-?\d{1,6})(?:-(\d\d|##))?(?:-(\d\d|##))?"?$/.exec(date);
    if (!match) return null;
    const [year, month, day] = match.slice(1).map((part) => Number(part) || 0);
    const [hour, minute, second] = [...clock.split(":"), 0, 0].map((part) => Number(part) || 0);
    if (this.unit === "year") return year;
    if (this.unit === "month") return year * 12 + Math.max(month, 1) - 1;
    const moment = new Date(((hour * 60 + minute) * 60 + second) * 1000);
    moment.setUTCFullYear(year, Math.max(month, 1) - 1, Math.max(day, 1));
    return Math.floor((moment.getTime() - this.origin) / this.length);
  }

  // Round positions: the beginnings of hours, days, months or years, depending on the unit.
  ticks(x) {
    const [left, right] = x.range();
    const count = Math.max(Math.floor((right - left) / 70), 2);
    const { length, origin } = this;
    if (!length) return x.ticks(count).filter(Number.isInteger);
    const dates = d3.scaleUtc().domain(x.domain().map((step) => step * length + origin));
    const steps = dates.ticks(count).map((date) => Math.ceil((date - origin) / length));
    return [...new Set(steps)];
  }

  // A tick's label: Feb, 3 Feb, 14:00; only January and the first tick include the year.
  tickText(position, isFirst = false) {
    if (!this.length) return this.text(position);
    const parts = /^([+-]?\d+)-(\d\d)-(\d\d)T(\d\d:\d\d)/.exec(this.iso(position));
    const [year, month, day, clock] = parts.slice(1);
    const name = MONTHS[Number(month) - 1];
    if (clock !== "00:00") return clock;
    if (day !== "01") return `${Number(day)} ${name}${isFirst ? ` ${year}` : ""}`;
    if (isFirst && month !== "01") return `${name} ${year}`;
    return month === "01" ? year : name;
  }

  // The tick labels that overlap neither each other nor the query's label. queryX: the position of
  // the query's label, or null; half: half its width. In pixels.
  labels(x, queryX, half) {
    const [left, right] = x.range();
    const kept = [];
    for (const position of this.ticks(x)) {
      const text = this.tickText(position, !kept.length);
      const [at, side] = [x(position), (LETTER * text.length) / 2];
      const isInside = at > left + side - 6 && at < right - side + 6;
      const isFree = queryX === null || Math.abs(at - queryX) > side + half + 8;
      const isApart = !kept.length || at - side > kept.at(-1).end + 10;
      if (isInside && isFree && isApart) kept.push({ text, x: at, end: at + side });
    }
    return kept;
  }

  isOutside(text) {
    const position = this.position(text);
    return position !== null && (position < this.first_position || position > this.last_position);
  }

  // Converts typed text for the service: "tomorrow" and "next week" count from the last fact, and
  // 31/12/2014 has only one meaning.
  read(typed) {
    const text = typed.trim();
    const days = AHEAD[text.toLowerCase()];
    if (days && this.length) {
      const steps = Math.max(Math.round((days * DAY) / this.length), 1);
      return this.text(this.last_position + steps);
    }
    const meanings = dayMeanings(text);
    return meanings.length === 1 ? meanings[0] : text;
  }

  // The note about a typed time, and whether it is a warning.
  hint(typed) {
    const meanings = dayMeanings(typed.trim());
    if (meanings.length === 2) return [`write ${meanings.join(" or ")}`, true];
    const at = this.position(this.read(typed));
    const [first, last] = [this.first_position, this.last_position];
    const span = `${this.first} to ${this.last}`;
    if (this.timeless) return ["all facts are undated", false];
    if (at === null || (at >= first && at <= last)) return [span, false];
    const isNear = at > last && at - last <= last - first;
    return isNear
      ? [`${counted(at - last, this.word)} after the last fact`, false]
      : [`outside ${span}`, true];
  }
}

// The days that 06/01/2015 can mean, as texts; none for other texts.
export function dayMeanings(text) {
  const match = /^(\d{1,2})[/.](\d{1,2})[/.](\d{4})$/.exec(text);
  if (!match) return [];
  const [one, other, year] = match.slice(1).map(Number);
  const isoOf = (month, day) =>
    `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
  const texts = [isoOf(other, one), isoOf(one, other)];
  return [...new Set(texts)].filter((day) => Number.isFinite(Date.parse(day)));
}

// A field for times in the usual formats. If times are days, it includes a calendar.
export class TimeField {
  constructor(container, axis) {
    this.axis = axis;
    this.hint = el("span", { class: "hint", id: "time-hint" });
    this.input = el("input", {
      id: "time",
      type: "text",
      required: true,
      placeholder: axis.mixed ? "1999 or 1999-05-13" : axis.last,
      spellcheck: "false",
      "aria-describedby": "time-hint",
      oninput: () => this.check(),
    });
    this.unknown = el("input", {
      type: "checkbox",
      id: "undated",
      checked: axis.timeless,
      disabled: axis.timeless,
      onchange: () => this.check(),
    });
    const undated = el("label", { class: "undated" }, this.unknown, " undated");
    container.replaceChildren(
      el(
        "div",
        { class: "label-row" },
        el("label", { for: "time" }, "Time"),
        axis.undated > 0 ? undated : null,
      ),
      this.input,
      ...(axis.unit === "day" && !axis.timeless ? this.calendar() : []),
      this.hint,
    );
    this.check();
  }

  calendar() {
    const onchange = () => {
      this.value = this.picker.value || this.value;
    };
    this.picker = el("input", { type: "date", tabindex: -1, "aria-hidden": "true", onchange });
    const open = () => {
      this.picker.value = this.value;
      this.picker.showPicker();
    };
    const attributes = { class: "quiet calendar", "aria-label": "Choose a day" };
    return [this.picker, button("▾", open, attributes)];
  }

  check() {
    this.input.disabled = this.unknown.checked;
    const [words, isWarning] = this.axis.hint(this.input.value);
    this.hint.textContent = words;
    this.hint.classList.toggle("warning", isWarning && !this.unknown.checked);
  }

  get value() {
    return this.unknown.checked ? "?" : this.axis.read(this.input.value);
  }

  set value(text) {
    this.unknown.checked = this.axis.timeless || text === "?";
    this.input.value = this.unknown.checked ? "" : text;
    this.check();
  }
}
