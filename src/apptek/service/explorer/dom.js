// Elements made from text only: a name never becomes markup.

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, text] of Object.entries(value)) made.style.setProperty(property, text);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

export const byId = (id) => document.getElementById(id);

// New children; where the focus was inside, the chosen one gets it.
export function replaceChoices(place, choices) {
  const focused = place.contains(document.activeElement);
  place.replaceChildren(...choices);
  if (focused) place.querySelector("[aria-pressed=true]")?.focus({ preventScroll: true });
}

// Something slower than 150 ms shows that it is being waited for.
export async function waiting(places, work) {
  const mark = (busy) => places.forEach((place) => place.toggleAttribute("data-waiting", busy));
  const timer = setTimeout(() => mark(true), 150);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    mark(false);
  }
}
