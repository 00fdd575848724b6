// An entity by name: suggestions while typing, by keyboard or pointer (ARIA combobox).

import { get } from "./api.js";
import { el } from "./dom.js";
import { counted, shown } from "./wording.js";

const PAUSE = 80; // milliseconds without a key before the service is asked
const SLOW = 150; // milliseconds without an answer before that is said

export class Combobox {
  constructor(place, { id, label, placeholder }) {
    this.options = [];
    this.active = -1;
    this.list = el("ul", { role: "listbox", id: `${id}-list`, class: "options", hidden: true, "aria-label": label });
    this.input = el("input", {
      id, placeholder, type: "text", required: true, role: "combobox", autocomplete: "off", spellcheck: "false",
      "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": `${id}-list`,
      oninput: () => this.later(), onkeydown: (event) => this.key(event),
      onfocus: () => this.input.select(), onblur: () => this.close(),
    });
    place.replaceChildren(el("div", { class: "label-row" }, el("label", { for: id }, label)), this.input, this.list);
  }

  get value() {
    return this.input.value;
  }

  set value(name) {
    this.input.value = name;
    this.close();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  async ask() {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    const typed = this.input.value;
    this.input.setAttribute("aria-busy", "true");
    const timer = setTimeout(() => this.say("Looking for names …"), SLOW);
    try {
      const found = await get("/api/entities", { q: typed, limit: 8 }, asking.signal);
      if (!asking.signal.aborted && document.activeElement === this.input) this.offer(found, typed);
    } catch (problem) {
      if (!asking.signal.aborted) this.say(`No names can be offered. ${problem.message}`, "lead warning");
    } finally {
      clearTimeout(timer);
      if (this.asking === asking) this.input.removeAttribute("aria-busy");
    }
  }

  // A line in the place of the names.
  say(words, kind = "lead") {
    this.options = [];
    this.list.replaceChildren(el("li", { class: kind, role: "presentation" }, words));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(-1);
  }

  offer({ entities, near }, typed) {
    const names = entities.length ? entities : near.map((name) => ({ name }));
    const lead = entities.length ? null : el("li", { class: "lead", role: "presentation" }, near.length ? "No name begins so. Did you mean" : "No such name");
    this.options = names.map((entity, place) => this.option(entity, place, typed));
    this.list.replaceChildren(...(lead ? [lead] : []), ...this.options);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(-1);
  }

  option({ name, facts }, place, typed) {
    const choose = (event) => {
      event.preventDefault(); // the field keeps the focus
      this.choose(name);
    };
    const made = el("li", { role: "option", id: `${this.input.id}-${place}`, class: "option", onmousedown: choose },
      el("span", { class: "name" }, ...highlighted(shown(name), typed)),
      facts == null ? null : el("span", { class: "count" }, counted(facts, "fact")));
    made.name = name;
    return made;
  }

  key(event) {
    const open = !this.list.hidden;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !open) this.ask();
    else if (step && this.options.length) {
      const size = this.options.length + 1; // one more: the field itself
      this.mark(((this.active + 1 + step + size) % size) - 1);
    } else if (event.key === "Enter" && open && this.active >= 0) this.choose(this.options[this.active].name);
    else if (event.key === "Escape" && open) this.close();
    else return;
    event.preventDefault();
  }

  mark(place) {
    this.active = place;
    this.options.forEach((option, index) => option.setAttribute("aria-selected", String(index === place)));
    this.input.setAttribute("aria-activedescendant", place >= 0 ? this.options[place].id : "");
    this.options[place]?.scrollIntoView({ block: "nearest" });
  }

  choose(name) {
    this.value = name;
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  close() {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.list.hidden = true;
    this.options = [];
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}

// The name with the beginnings of its words marked that were typed.
function highlighted(name, typed) {
  const words = typed.split(/[^\p{L}\p{N}]+/u).filter(Boolean).map((word) => word.toLowerCase());
  return name.split(/([^\p{L}\p{N}]+)/u).map((part) => {
    const word = words.find((one) => part.toLowerCase().startsWith(one));
    return word ? el("span", {}, el("mark", {}, part.slice(0, word.length)), part.slice(word.length)) : part;
  });
}
