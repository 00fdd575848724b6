// The OpenAPI description as a page: every address, its parameters, and an example to try.

import { get, post } from "./api.js";
import { byId, el } from "./dom.js";
import { showProblem } from "./notices.js";

// The part of the description that a schema refers to, or the schema itself.
function resolve(api, schema) {
  if (!schema?.$ref) return schema;
  const [, ...keys] = schema.$ref.split("/");
  return keys.reduce((part, key) => part[key], api);
}

async function start() {
  try {
    const [api, model] = await Promise.all([get("/api/openapi.json"), get("/api/model")]);
    const sample = model.samples[0];
    byId("about").textContent = api.info.description;
    byId("problems").replaceChildren();
    const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, about]) => operation(api, path, method, about, sample)),
    );
    byId("operations").replaceChildren(...operations);
  } catch (problem) {
    showProblem(problem, "docs", { onRetry: start, onSuggestion: () => {} });
  }
}

function operation(api, path, method, about, sample) {
  const example = exampleOf(path, about, sample);
  const answer = el("pre", { hidden: true });
  const tryIt = async () => {
    answer.hidden = false;
    answer.textContent = "…";
    try {
      const { path: address, query, body } = example;
      const result = await (body ? post(address, body) : get(address, query));
      answer.textContent = JSON.stringify(result, null, 2).slice(0, 20_000);
    } catch (problem) {
      answer.textContent = JSON.stringify({ ...problem }, null, 2);
    }
  };
  return el(
    "section",
    { class: "operation card" },
    el("h2", {}, el("span", {}, method.toUpperCase()), path),
    el("p", { class: "soft" }, about.description ?? ""),
    fields(api, about),
    el("pre", {}, curl(example)),
    el(
      "div",
      { class: "tools" },
      el("button", { type: "button", class: "quiet", onclick: tryIt }, "Try it"),
    ),
    answer,
  );
}

// A table of the parameters and body fields of an operation.
function fields(api, about) {
  const body = resolve(api, about.requestBody?.content["application/json"].schema);
  const forms = (body?.oneOf ?? (body ? [body] : [])).map((form) => resolve(api, form));
  const rows = new Map(); // by name: the two forms of a body share fields
  for (const { name, in: where, required, schema, description } of about.parameters ?? []) {
    rows.set(name, row(name, where, schema, required, description));
  }
  for (const { properties, required = [] } of forms) {
    for (const [name, schema] of Object.entries(properties)) {
      rows.set(name, row(name, "body", schema, required.includes(name), schema.description));
    }
  }
  return rows.size ? el("table", {}, el("tbody", {}, ...rows.values())) : null;
}

const row = (name, where, schema, required, description) =>
  el(
    "tr",
    {},
    el("td", {}, name),
    el("td", { class: "soft" }, `${where}, ${kind(schema)}${required ? "" : ", optional"}`),
    el("td", {}, description ?? ""),
  );

function kind(schema = {}) {
  if (schema.type) return schema.type;
  const kinds = schema.anyOf?.map((form) => kind(form)).filter((type) => type !== "null");
  return kinds?.join(" or ") ?? "object";
}

function exampleOf(path, about, sample) {
  const query =
    {
      "/api/entities": { q: sample.subject.slice(0, 3) },
      "/api/pair": { subject: sample.subject, object: sample.object },
      "/api/topologies": { limit: 1 },
    }[path] ?? {};
  return {
    path: path.replace("{name}", encodeURIComponent(sample.subject)),
    query,
    body: about.requestBody ? { ...sample, top: 3 } : null,
  };
}

// A text as a POSIX shell reads it.
const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function curl({ path, query, body }) {
  const parameters = new URLSearchParams(query).toString();
  const address = quoted(`${location.origin}${path}${parameters ? `?${parameters}` : ""}`);
  if (!body) return `curl ${address}`;
  return `curl ${address} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;
}

start();
