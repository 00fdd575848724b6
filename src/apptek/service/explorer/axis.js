// The time axis: positions as the service counts them, their texts, and a field for a time.

import { el } from "./dom.js";

const DAY = 86_400_000;
const WORDS = { day: "day", month: "month", year: "year", integer: "step" };
const INPUTS = { day: "date", month: "month", year: "number", integer: "number" };

export class Axis {
  constructor(span) {
    Object.assign(this, span); // as the service describes it, and timeless: no fact is dated
    this.word = WORDS[span.unit];
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
    return new Date(whole * DAY).toISOString().slice(0, 10);
  }

  // The position of a text, or null if it has none.
  position(text) {
    if (this.unit === "integer") return /^[+-]?\d+$/.test(text) ? Number(text) : null;
    const match = /^"?(-?\d{1,6})(?:-(\d\d|##))?(?:-(\d\d|##))?"?$/.exec(text);
    if (!match) return null;
    const [year, month, day] = match.slice(1).map((part) => Number(part) || 0);
    if (this.unit === "year") return year;
    if (this.unit === "month") return year * 12 + Math.max(month, 1) - 1;
    const date = new Date(0);
    date.setUTCFullYear(year, Math.max(month, 1) - 1, Math.max(day, 1));
    return Math.floor(date.getTime() / DAY);
  }

  isOutside(text) {
    const position = this.position(text);
    return position !== null && (position < this.first_position || position > this.last_position);
  }
}

// A field for a time. It uses the browser's picker unless the data mixes days, months and years.
export class TimeField {
  constructor(container, axis) {
    this.axis = axis;
    const kind = axis.mixed ? "text" : INPUTS[axis.unit];
    const limits = axis.mixed
      ? { placeholder: "1999 or 1999-05-13" }
      : { min: axis.first, max: axis.last, step: 1 };
    this.hint = el("span", { class: "hint", id: "time-hint" });
    this.input = el("input", {
      id: "time",
      type: kind,
      required: true,
      "aria-describedby": "time-hint",
      ...limits,
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
