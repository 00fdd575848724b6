// The OpenAPI description as a page: every address, what it takes, an example that can be tried.

import { get, post } from "./api.js";
import { byId, el } from "./dom.js";
import { showProblem } from "./notices.js";

const resolve = (api, schema) => (schema?.$ref ? schema.$ref.split("/").slice(1).reduce((part, key) => part[key], api) : schema);

async function start() {
  try {
    const [api, model] = await Promise.all([get("/api/openapi.json"), get("/api/model")]);
    const sample = model.samples[0];
    byId("about").textContent = api.info.description;
    byId("problems").replaceChildren();
    const operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => operation(api, path, method, about, sample)));
    byId("operations").replaceChildren(...operations);
  } catch (problem) {
    showProblem(problem, "docs", { onRetry: start });
  }
}

function operation(api, path, method, about, sample) {
  const example = exampleOf(path, about, sample);
  const answer = el("pre", { hidden: true });
  const tryIt = async () => {
    answer.hidden = false;
    answer.textContent = "…";
    try {
      answer.textContent = JSON.stringify(await (example.body ? post(example.path, example.body) : get(example.path, example.query)), null, 2).slice(0, 20_000);
    } catch (problem) {
      answer.textContent = JSON.stringify({ ...problem }, null, 2);
    }
  };
  return el("section", { class: "operation card" },
    el("h2", {}, el("span", {}, method.toUpperCase()), path), el("p", { class: "soft" }, about.description ?? ""),
    fields(api, about), el("pre", {}, curl(example)), el("div", { class: "tools" }, el("button", { type: "button", class: "quiet", onclick: tryIt }, "Try it")), answer);
}

function fields(api, about) {
  const body = resolve(api, about.requestBody?.content["application/json"].schema);
  const forms = (body?.oneOf ?? (body ? [body] : [])).map((form) => resolve(api, form));
  const rows = [
    ...(about.parameters ?? []).map(({ name, in: where, required, schema, description }) => [name, where, kind(schema), required, description]),
    ...forms.flatMap(({ properties, required = [] }) => Object.entries(properties).map(([name, schema]) => [name, "body", kind(schema), required.includes(name), schema.description])),
  ];
  const seen = new Map(rows.map((row) => [row[0], row]));
  if (!seen.size) return null;
  return el("table", {}, el("tbody", {}, ...[...seen.values()].map(([name, where, type, required, words]) =>
    el("tr", {}, el("td", {}, name), el("td", { class: "soft" }, `${where}, ${type}${required ? "" : ", optional"}`), el("td", {}, words ?? "")))));
}

const kind = (schema = {}) => schema.type ?? schema.anyOf?.map(kind).filter((type) => type !== "null").join(" or ") ?? "object";

function exampleOf(path, about, sample) {
  const query = { "/api/entities": { q: sample.subject.slice(0, 3) }, "/api/pair": { subject: sample.subject, object: sample.object }, "/api/topologies": { limit: 1 } }[path] ?? {};
  return { path: path.replace("{name}", encodeURIComponent(sample.subject)), query, body: about.requestBody ? { ...sample, top: 3 } : null };
}

function curl({ path, query, body }) {
  const address = `${location.origin}${path}${Object.keys(query).length ? `?${new URLSearchParams(query)}` : ""}`;
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  return body ? `curl ${quoted(address)} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}` : `curl ${quoted(address)}`;
}

start();
