// A field for an entity name, with suggestions while typing (an ARIA combobox).

import { get } from "./api.js";
import { el, span } from "./dom.js";
import { counted, shown } from "./wording.js";

const PAUSE = 80; // milliseconds without a keystroke before suggestions are fetched
const SLOW = 150; // milliseconds before the list shows that the search is still running

// A line of text above the suggestions, or instead of them.
export const lead = (text, kind = "lead") => el("li", { class: kind, role: "presentation" }, text);

export class Combobox {
  constructor(container, { id, label, placeholder = "Type a few letters", required = true }) {
    this.options = [];
    this.active = -1;
    this.list = el("ul", {
      role: "listbox",
      id: `${id}-list`,
      class: "options",
      hidden: true,
      "aria-label": label,
    });
    this.input = el("input", {
      id,
      placeholder,
      type: "text",
      required,
      pattern: ".*\\S.*", // only spaces are not a name
      role: "combobox",
      autocomplete: "off",
      spellcheck: "false",
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      "aria-controls": `${id}-list`,
      oninput: () => this.suggestSoon(),
      onkeydown: (event) => this.handleKey(event),
      onfocus: () => this.input.select(),
      onblur: () => this.close(),
    });
    container.replaceChildren(
      el("div", { class: "label-row" }, el("label", { for: id }, label)),
      this.input,
      this.list,
    );
  }

  get value() {
    return this.input.value;
  }

  set value(name) {
    this.input.value = name;
    this.close();
  }

  // Opens the list for a partly typed name, which is the beginning of other names.
  async offerMatches() {
    const typed = this.input.value;
    const found = await this.find(typed).catch(() => ({ entities: [] }));
    if (!found.entities.length || this.input.value !== typed) return;
    this.input.focus();
    this.offer(found, typed);
  }

  suggestSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.suggest(), PAUSE);
  }

  async suggest() {
    this.fetching?.abort();
    const fetching = new AbortController();
    this.fetching = fetching;
    const { signal } = fetching;
    const typed = this.input.value;
    this.input.setAttribute("aria-busy", "true");
    const timer = setTimeout(() => this.showMessage("Looking for names …"), SLOW);
    try {
      const matches = await this.find(typed, signal);
      if (!signal.aborted && document.activeElement === this.input) this.offer(matches, typed);
    } catch (problem) {
      if (!signal.aborted) {
        this.showMessage(`Names could not be loaded. ${problem.message}`, "lead warning");
      }
    } finally {
      clearTimeout(timer);
      if (this.fetching === fetching) this.input.removeAttribute("aria-busy");
    }
  }

  find(typed, signal = undefined) {
    return get("/api/entities", { q: typed, limit: 8 }, signal);
  }

  // Shows a line of text instead of names.
  showMessage(text, kind = "lead") {
    this.open([], lead(text, kind));
  }

  /**
   * @param {any} found
   * @param {string} typed
   */
  offer({ entities, near }, typed) {
    const names = entities.length ? entities : near.map((name) => ({ name }));
    const words = near.length ? "No name starts like this. Did you mean:" : "No matching name";
    this.open(
      names.map((entity, index) => this.option(entity, index, typed)),
      entities.length ? null : lead(words),
    );
  }

  open(options, first) {
    this.options = options;
    this.list.replaceChildren(...(first ? [first] : []), ...options);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(-1);
  }

  option({ name, facts }, index, typed) {
    return this.row(
      index,
      name,
      span("name", ...highlighted(shown(name), typed)),
      facts == null ? null : span("count", counted(facts, "fact")),
    );
  }

  // A list option with its value.
  row(index, value, ...children) {
    const choose = (event) => {
      event.preventDefault(); // keep the focus in the field
      this.choose(value);
    };
    const option = el(
      "li",
      { role: "option", id: `${this.input.id}-${index}`, class: "option", onmousedown: choose },
      ...children,
    );
    option.choice = value;
    return option;
  }

  handleKey(event) {
    const open = !this.list.hidden;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !open) {
      this.suggest();
    } else if (step && this.options.length) {
      const size = this.options.length + 1; // one more for the field itself
      this.mark(((this.active + 1 + step + size) % size) - 1);
    } else if (event.key === "Enter" && open && this.active >= 0) {
      this.choose(this.options[this.active].choice);
    } else if (event.key === "Escape" && open) {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
  }

  // Marks an option as active; -1: no option, the field itself is active.
  mark(active) {
    this.active = active;
    for (const [index, option] of this.options.entries()) {
      option.setAttribute("aria-selected", String(index === active));
    }
    this.input.setAttribute("aria-activedescendant", active >= 0 ? this.options[active].id : "");
    this.options[active]?.scrollIntoView({ block: "nearest" });
  }

  choose(name) {
    this.value = name;
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  close() {
    clearTimeout(this.timer);
    this.fetching?.abort();
    this.list.hidden = true;
    this.options = [];
    this.active = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}

// The name, with the typed beginnings of its words highlighted.
export function highlighted(name, typed) {
  const words = typed
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .map((word) => word.toLowerCase());
  return name.split(/([^\p{L}\p{N}]+)/u).map((part) => {
    const word = words.find((prefix) => part.toLowerCase().startsWith(prefix));
    return word
      ? el("span", {}, el("mark", {}, part.slice(0, word.length)), part.slice(word.length))
      : part;
  });
}
