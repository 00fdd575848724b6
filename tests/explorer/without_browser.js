// What the modules of the page find in a browser, for tests that run without one: d3, the class
// that says that no fact is dated, and a service.

import "../../src/apptek/server/explorer/vendor/d3.min.js";

const classes = new Set();
globalThis.document = { body: { classList: { contains: (name) => classes.has(name) } } };

// Does some work on the page of a model whose facts have no dates.
export function timeless(work) {
  classes.add("timeless");
  try {
    return work();
  } finally {
    classes.delete("timeless");
  }
}

// Does some work while replyTo(path, request) answers for the service; returns what was requested.
export async function served(replyTo, work) {
  const requests = [];
  const { fetch: original } = globalThis;
  globalThis.fetch = async (path, options) => {
    options.signal?.throwIfAborted();
    const address = new URL(path, "http://service");
    const body = options.body && JSON.parse(options.body);
    const asked = Object.fromEntries(address.searchParams);
    requests.push({ path: address.pathname, asked, body, headers: options.headers });
    const reply = await replyTo(address.pathname, body ?? asked, requests.length);
    return reply instanceof Response ? reply : Response.json(reply);
  };
  try {
    await work();
  } finally {
    globalThis.fetch = original;
  }
  return requests;
}
