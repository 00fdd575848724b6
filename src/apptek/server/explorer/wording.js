// Numbers and names in readable form, as in present/wording.py.

const UNSAFE = /[\p{Cc}\p{Cs}\p{Cn}\p{Co}\u202a-\u202e\u2066-\u2069]/gu;

// A name with control characters and characters that change the writing direction replaced.
export const shown = (name) => name.replace(UNSAFE, "\ufffd");

// A predicate in readable form: "Consult (040)" if it has a label.
export const labelled = (predicate, label) =>
  shown(!label || label === predicate ? predicate : `${label} (${predicate})`);

export const shortened = (text, length) => {
  const letters = [...text];
  if (letters.length <= length) return text;
  const start = letters.slice(0, length - 1).join("");
  return `${start.trimEnd()}…`;
};

/** Words about time, or others where no fact has one. @type {(words: any, otherwise?: any) => any} */
export const timely = (words, otherwise = "") =>
  document.body.classList.contains("timeless") ? otherwise : words;

export function percent(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return share >= 0.9995 && share < 1 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`;
}

// Values that round to zero have no minus sign.
export function signed(value) {
  const digits = Math.abs(value).toFixed(2);
  return `${value < 0 && digits !== "0.00" ? "−" : "+"}${digits}`;
}

export function counted(count, noun) {
  if (count === 1) return `1 ${noun}`;
  const plural = /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${plural}`;
}
