// Helpers for the DOM. Elements are created from text only, so names never become markup.

import { addressOf } from "./state.js";

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) {
      element.addEventListener(key.slice(2), value);
    } else if (key === "style") {
      // Set each property separately: the Content-Security-Policy forbids style attributes.
      for (const [property, text] of Object.entries(value)) {
        element.style.setProperty(property, text);
      }
    } else if (value === true) {
      element.setAttribute(key, "");
    } else if (value !== false && value != null) {
      element.setAttribute(key, value);
    }
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export const span = (kind, ...children) => el("span", { class: kind }, ...children);
export const soft = (...children) => el("p", { class: "soft" }, ...children);

// A button with an action.
export const button = (label, onclick, attributes = {}) =>
  el("button", { type: "button", class: "quiet", ...attributes, onclick }, label);

// A button that takes back what its item describes.
export const undoButton = (label, onclick) =>
  button("↶", onclick, { class: "undo", "aria-label": label });

// A list item that is a choice: all of it is a button.
export const choice = (attributes, ...children) =>
  el("li", {}, el("button", { type: "button", ...attributes }, ...children));

// The colour of a class as a style; the tones are in tokens.css.
export const toned = (tone) => ({ "--tone": `var(--${tone})` });

// A small square in the colour of a class.
export const swatch = (tone) => el("span", { class: "swatch", style: toned(tone) });

// A bar that is filled to a given proportion.
export const track = (share, kind = "") =>
  el(
    "span",
    { class: "track" },
    el("span", { class: `fill ${kind}`, style: { width: `${Math.min(100 * share, 100)}%` } }),
  );

// A link to a question that opens within the page.
export function questionLink(state, onAsk, attributes, ...children) {
  const onclick = (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    onAsk(state);
  };
  return el("a", { href: addressOf(state), onclick, ...attributes }, ...children);
}

// Sets attributes on a d3 selection.
export function set(selection, attributes) {
  for (const [name, value] of Object.entries(attributes)) selection.attr(name, value);
  return selection;
}

// Appends an element with attributes to a d3 selection.
export const put = (parent, name, attributes) => set(parent.append(name), attributes);

/**
 * The element with an id, of any type.
 * @param {string} id
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id);

/**
 * All matching elements, of any type.
 * @param {string} selector
 * @returns {any[]}
 */
export const all = (selector) => [...document.querySelectorAll(selector)];

/** @type {WeakMap<Element, Element[]>} */
const latest = new WeakMap(); // current choices of a list, or the next ones while it is pressed
const PRESSED = 30; // milliseconds before checking a pressed list again

// Replaces the children of a list of choices. If one had the focus, its replacement gets it. While
// one is pressed, nothing is replaced, because a click must begin and end on the same element.
export function replaceChoices(list, choices) {
  latest.set(list, choices);
  if (list.querySelector(":active")) {
    setTimeout(() => latest.get(list) === choices && replaceChoices(list, choices), PRESSED);
    return;
  }
  const place = [...list.children].findIndex((each) => each.contains(document.activeElement));
  list.replaceChildren(...choices);
  if (place >= 0) choices[place]?.querySelector("button")?.focus({ preventScroll: true });
}

// Marks elements as waiting if some work takes longer than 150 ms.
export async function waiting(elements, work) {
  const mark = (busy) => {
    for (const element of elements) element.toggleAttribute("data-waiting", busy);
  };
  const timer = setTimeout(() => mark(true), 150);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    mark(false);
  }
}

// Marks the link to the current page.
export function markCurrent(page) {
  for (const link of all("[data-page]")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
