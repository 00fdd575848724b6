// The time axis: positions as the service counts them, their texts, and a field for a time.

import { el } from "./dom.js";

const { d3 } = globalThis;
const DAY = 86_400_000;
// The milliseconds of the units that have a fixed length; weeks count from Monday, 1969-12-29.
const LENGTHS = { second: 1000, minute: 60_000, hour: 3_600_000, day: DAY, week: 7 * DAY };
const SHOWN = { second: 19, minute: 16, hour: 16 }; // characters of an ISO text; of days, 10
// A short and a long window of a forecast, in steps.
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
    this.beyond = span.beyond; // steps after the last fact that are shown
    this.length = LENGTHS[span.unit]; // of a step in milliseconds, if all are equally long
    this.origin = span.unit === "week" ? -3 * DAY : 0;
  }

  // The text of a position, as the service reads it.
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
    const text = new Date(whole * this.length + this.origin).toISOString();
    return text.slice(0, SHOWN[this.unit] ?? 10).replace("T", " ");
  }

  // The position of a text, or null if it has none.
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

  // Round positions: of days and their parts, the beginnings of hours, days, months or years.
  ticks(x) {
    const [left, right] = x.range();
    const count = Math.max(Math.floor((right - left) / 70), 2);
    const { length, origin } = this;
    if (!length) return x.ticks(count).filter(Number.isInteger);
    const dates = d3.scaleUtc().domain(x.domain().map((step) => step * length + origin));
    const steps = dates.ticks(count).map((date) => Math.ceil((date - origin) / length));
    return [...new Set(steps)];
  }

  isOutside(text) {
    const position = this.position(text);
    return position !== null && (position < this.first_position || position > this.last_position);
  }
}

// A field for any time, written as everywhere else: a browser's own picker would show 12/31/2014.
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
    const open = axis.undated > 0;
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
        open ? undated : null,
      ),
      this.input,
      this.hint,
    );
    this.check();
  }

  check() {
    this.input.disabled = this.unknown.checked;
    const outside = !this.unknown.checked && this.axis.isOutside(this.input.value);
    const span = this.axis.timeless
      ? "all facts are undated"
      : `${this.axis.first} to ${this.axis.last}`;
    this.hint.textContent = outside ? `outside ${span}` : span;
    this.hint.classList.toggle("warning", outside);
  }

  get value() {
    return this.unknown.checked ? "?" : this.input.value.trim();
  }

  set value(text) {
    this.unknown.checked = this.axis.timeless || text === "?";
    this.input.value = this.unknown.checked ? "" : text;
    this.check();
  }
}
