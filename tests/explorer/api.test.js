// Requests: what goes with them, and what their failures become.

import assert from "node:assert/strict";
import { served } from "./without_browser.js";
import { get, getReady, keepToken, post } from "../../src/apptek/server/explorer/api.js";
import { canRetry } from "../../src/apptek/server/explorer/notices.js";
import { latestTime } from "../../src/apptek/server/explorer/pair_facts.js";

const problemOf = async (reply, signal) => {
  const found = [];
  await served(reply, async () => {
    await get("/api/model", {}, signal).catch((problem) => found.push(problem));
  });
  return found[0];
};
const failing = () => {
  throw new TypeError("no connection");
};
const problem = (status) => () => Response.json({ status, title: "T", detail: "D" }, { status });

Deno.test("values that are not set are not asked for", async () => {
  const requests = await served(
    () => ({}),
    async () => {
      await get("/api/ribbon", { subject: "a & b", from: undefined, to: null, limit: 0 });
      await post("/api/predict", { subject: "ü" });
    },
  );
  assert.deepEqual(requests[0].asked, { subject: "a & b", limit: "0" });
  assert.deepEqual(requests[1].body, { subject: "ü" });
  assert.equal(requests[1].headers.Authorization, undefined);
});

Deno.test("the token goes with every request", async () => {
  try {
    keepToken("secret");
    const requests = await served(
      () => ({}),
      () => get("/api/model"),
    );
    assert.equal(requests[0].headers.Authorization, "Bearer secret");
  } finally {
    sessionStorage.clear();
  }
});

Deno.test("a service that does not answer, or says nothing that can be read, is a problem", async () => {
  const gone = await problemOf(failing);
  assert.equal(gone.title, "The service does not answer");
  assert.match(gone.advice, /still running/);
  const unread = await problemOf(() => new Response("<html>", { status: 502 }));
  assert.equal(unread.title, "The response cannot be read");
  assert.equal(unread.status, 502);
});

Deno.test("a problem of the service is told as it is", async () => {
  const found = await problemOf(problem(422));
  assert.deepEqual([found.status, found.title, found.message], [422, "T", "D"]);
  assert.deepEqual(found.suggestions, []);
});

Deno.test("what is given up is no problem of the service", async () => {
  const given = await problemOf(() => ({}), AbortSignal.abort());
  assert.equal(given.name, "AbortError");
});

Deno.test("only what may succeed later can be tried again", async () => {
  const statuses = { 0: true, 401: false, 404: false, 422: false, 429: true, 500: true, 503: true };
  for (const [status, may] of Object.entries(statuses)) {
    assert.equal(canRetry({ status: Number(status) }), may, status);
  }
  assert.equal(canRetry(await problemOf(failing)), true);
  assert.equal(canRetry(new Error("of the page itself")), false);
});

// Runs work with timers that do not wait.
async function atOnce(work) {
  const { setTimeout: original } = globalThis;
  globalThis.setTimeout = (then) => original(then, 0);
  try {
    await work();
  } finally {
    globalThis.setTimeout = original;
  }
}

Deno.test("what is still computed is asked for until it is there", async () => {
  const waits = [];
  await atOnce(async () => {
    const requests = await served(
      (path, asked, number) => ({ ready: number === 3, rows: [number] }),
      async () => {
        const { signal } = new AbortController();
        const found = await getReady("/api/watch", {}, signal, ({ rows }) => waits.push(...rows));
        assert.deepEqual(found.rows, [3]);
      },
    );
    assert.equal(requests.length, 3);
  });
  assert.deepEqual(waits, [1, 2]);
});

Deno.test("what nobody waits for any more is not asked for again", async () => {
  const giving = new AbortController();
  await atOnce(async () => {
    const requests = await served(
      () => ({ ready: false }),
      () => getReady("/api/watch", {}, giving.signal, () => giving.abort()),
    );
    assert.equal(requests.length, 1);
  });
});

Deno.test("the latest time of a pair is none if one of the two is unknown", async () => {
  const latest = { latest: "2014-08-15" };
  const unknown = () => Response.json({ status: 404, detail: "No such name." }, { status: 404 });
  for (const [reply, expected] of [
    [() => latest, "2014-08-15"],
    [unknown, null],
  ]) {
    await served(reply, async () => {
      assert.equal(await latestTime({ subject: "a", object: "b" }, undefined), expected);
    });
  }
});
