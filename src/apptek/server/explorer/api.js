// The HTTP interface. Every failure is a Problem: title, detail, advice and possibly suggestions.

import { save } from "./export.js";

const TOKEN = "apptek-token";

export class Problem extends Error {
  constructor(body) {
    super(body.detail);
    Object.assign(this, { suggestions: [], where: "" }, body);
  }
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

// read: how to read a successful response, json or blob
async function request(path, options = {}, read = "json") {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  const response = await fetch(path, { ...options, headers }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      status: 0,
      title: "The service does not answer",
      detail: "The request got no response.",
      advice: "Check that “apptek serve” is still running, then try again.",
    });
  });
  const body = await response[response.ok ? read : "json"]().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (response.ok && body !== null) return body;
  throw new Problem(
    body ?? {
      status: response.status,
      title: "The response cannot be read",
      detail: `Status ${response.status}.`,
      advice: "Try again. If it happens again, look at the output of the service.",
    },
  );
}

const parameters = (values) =>
  new URLSearchParams(Object.entries(values).filter(([, value]) => value != null)).toString();

export const get = (path, values = {}, signal = undefined) =>
  request(`${path}?${parameters(values)}`, { signal });

// Saves the service's response as a file.
export const saveFrom = async (path, values, name) =>
  save(await request(`${path}?${parameters(values)}`, {}, "blob"), name);

/** @type {Promise<any[]> | null} */
let known = null;

// All predicates with label, class and group; fetched only once.
export function predicates() {
  known ??= get("/api/predicates").then(({ predicates: all }) => all);
  return known.catch((problem) => {
    known = null;
    throw problem;
  });
}

const PAUSE = 1200; // milliseconds before asking again for something that is not ready

// Asks until the service has finished a one-time computation; calls meanwhile() on each attempt.
export async function getReady(path, values, signal, meanwhile) {
  const found = await get(path, values, signal);
  if (found.ready || signal.aborted) return found;
  meanwhile(found);
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
  return signal.aborted ? found : getReady(path, values, signal, meanwhile);
}

export const post = (path, body, signal) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

export const timelinePath = (name) => `/api/entity/${encodeURIComponent(name)}/timeline`;
