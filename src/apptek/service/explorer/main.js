// The explorer: a query in, its ranking, reasons, graph and history out. The address is the state.

import { get, post } from "./api.js";
import { Axis, TimeField } from "./axis.js";
import { Combobox } from "./combobox.js";
import { byId, el, waiting } from "./dom.js";
import { exportView } from "./export.js";
import { Graph, isFar } from "./graph.js";
import { clearProblems, showNotes, showProblem } from "./notices.js";
import { Ranking } from "./ranking.js";
import { aboutOf, drawingOf, Reasons, showFacts } from "./reasons.js";
import { readState, writeState } from "./state.js";
import { Timelines } from "./timeline.js";
import { counted, percent, shown } from "./wording.js";

const TOP = 30;
const TITLE = document.title;
const page = { state: {}, answer: null, explanation: null };

const subject = new Combobox(byId("subject-field"), { id: "subject", label: "Subject", placeholder: "Who acts" });
const object = new Combobox(byId("object-field"), { id: "object", label: "Object", placeholder: "On whom" });
const graph = new Graph(byId("graph"), { onAsk: (role, name) => ask({ ...query(), [role]: name }) });
const ranking = new Ranking({ onSelect: (predicate) => update({ predicate, reason: null, within: null }, { push: true }).then(explain) });
const reasons = new Reasons({ onSelect: (reason) => update({ reason, within: null }).then(showReason) });
let time, timelines, axis;

const query = () => ({ subject: page.state.subject, object: page.state.object, time: page.state.time });

async function update(changes, options) {
  page.state = { ...page.state, ...changes };
  writeState(page.state, options);
}

// source: the part of the page that works; its problem is shown until it works again.
async function guarded(source, work, signal) {
  try {
    await work();
    if (!signal?.aborted) clearProblems(source);
  } catch (problem) {
    if (signal?.aborted) return;
    showProblem(problem, source, {
      onRetry: () => (axis ? restore() : start()),
      onSuggestion: (where, name) => ask({ ...query(), [where]: name }),
    });
  }
}

function start() {
  return guarded("start", async () => {
    const model = await waiting([byId("ask")], get("/api/model"));
    axis = new Axis({ ...model.span, timeless: model.span.undated === model.counts.train });
    time = new TimeField(byId("time-field"), axis);
    timelines = new Timelines(byId("lanes"), axis, { onZoom: (zoom) => update({ zoom }), guarded: (work) => guarded("timelines", work) });
    about(model);
    showNotes([]);
    await restore();
  });
}

function about({ dataset, preset, protocol, counts, span, samples }) {
  const facts = [counted(counts.train, "fact"), counted(counts.entities, "entity"), counted(counts.predicates, "predicate")];
  byId("about").replaceChildren(el("b", {}, dataset), ` ${facts.join(" · ")} · `, el("span", { class: "when" }, axis.timeless ? "all undated" : `${span.first} to ${span.last}`));
  byId("footer").textContent = `Model: preset ${preset}, protocol ${protocol}${counts.topologies ? `, ${counted(counts.topologies, "topology")}` : ""}. The graph holds training facts only.`;
  byId("that-time").textContent = { day: "that day", month: "that month", year: "that year", integer: "at that time" }[span.unit];
  byId("samples").replaceChildren(...samples.map((sample) =>
    el("button", { type: "button", class: "sample card", onclick: () => ask(sample) },
      el("span", { class: "who" }, shown(sample.subject)), el("span", { class: "what" }, "?"), el("span", { class: "who" }, shown(sample.object)), el("span", { class: "soft" }, sample.time))));
}

// The view that the address describes.
async function restore() {
  page.asking?.abort();
  page.explaining?.abort();
  page.asking = new AbortController();
  clearProblems();
  showNotes([]);
  document.title = TITLE;
  page.state = readState();
  const { subject: one, object: other, time: when, hide } = page.state;
  subject.value = one ?? "";
  object.value = other ?? "";
  time.value = when ?? axis.last;
  byId("hide-known").checked = hide === "1";
  byId("periphery").checked = page.state.periphery === "1";
  const asked = one && other && when;
  byId("welcome").hidden = Boolean(asked);
  if (!asked) {
    byId("result").hidden = true;
    timelines.clear();
  }
  if (asked) await answer();
}

const ask = (asked) => update({ predicate: null, reason: null, within: null, zoom: null, ...asked }, { push: true }).then(restore);

function answer() {
  const { signal } = page.asking;
  return guarded("answer", async () => {
    document.title = `${shown(page.state.subject)}, ?, ${shown(page.state.object)}, ${page.state.time} · APPTeK`;
    const body = { ...query(), top: TOP };
    const { answers } = await waiting([byId("ask")], post("/api/predict", body, signal)).catch((problem) => {
      if (!signal.aborted) byId("result").hidden = true;
      throw problem;
    });
    if (signal.aborted) return;
    [page.answer] = answers;
    byId("result").hidden = false;
    await Promise.all([explain(), guarded("timelines", () => timelines.load(query(), readZoom(page.state.zoom)), signal)]);
  }, signal);
}

// Two ascending positions, "all", or null for anything else.
function readZoom(text) {
  if (text === "all") return text;
  const [, first, last] = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/.exec(text ?? "")?.map(Number) ?? [];
  return Number.isFinite(first) && Number.isFinite(last) && first < last ? [first, last] : null;
}

// The predicate that is looked at: the chosen one, else the first that is not hidden.
function selected() {
  const hide = page.state.hide === "1";
  const visible = page.answer.predicates.filter(({ known }) => !(hide && known));
  return page.state.predicate ?? visible[0]?.predicate ?? page.answer.predicates[0].predicate;
}

function explain() {
  page.explaining?.abort();
  page.explaining = new AbortController();
  const { signal } = page.explaining;
  return guarded("reasons", async () => {
    const predicate = selected();
    ranking.show(page.answer.predicates, { hide: page.state.hide === "1", selected: predicate });
    const work = post("/api/explain", { ...query(), predicate }, signal);
    const found = await waiting(["graph-card", "reasons-card", "facts-card"].map(byId), work).catch((problem) => {
      if (!signal.aborted) clearExplanation();
      throw problem;
    });
    if (signal.aborted) return;
    page.explanation = found;
    const { notes } = page.explanation;
    const beyond = axis.timeless ? "but all facts of the data are undated." : `is outside the time of the data, ${axis.first} to ${axis.last}: the nearest facts answer.`;
    const outside = page.answer.outside_span ? [`${page.state.time} ${beyond}`] : [];
    showNotes([...outside, ...notes.filter((note) => !(outside.length && note.includes(page.state.time)))]);
    showReason();
  }, signal);
}

// Nothing of an earlier explanation stays beside a problem.
function clearExplanation() {
  Object.assign(page, { explanation: null, chosen: null, drawing: null });
  byId("answer").replaceChildren();
  byId("rather").textContent = "";
  byId("facts-title").textContent = "Facts";
  byId("facts").replaceChildren();
  byId("within-label").textContent = "";
  byId("within").disabled = true;
  showNotes([]);
  reasons.clear();
  graph.empty("There is no explanation to draw.");
  setTools();
}

function showReason() {
  const { explanation, state } = page;
  const chosen = explanation.reasons.find(({ number }) => String(number) === String(state.reason)) 
    ?? explanation.reasons.find((reason) => drawingOf(explanation, reason)) ?? explanation.reasons[0];
  const drawing = drawingOf(explanation, chosen);
  const first = explanation.ranked[0].predicate === explanation.predicate;
  byId("answer").replaceChildren(el("span", {}, shown(explanation.predicate)), el("span", { class: "share" }, percent(explanation.probability)));
  const rival = `${shown(explanation.runner_up)} (${percent(explanation.runner_up_probability)})`;
  byId("rather").textContent = first ? `rather than ${rival}` : `less probable than ${rival}`;
  reasons.show(explanation, chosen?.number);
  page.chosen = chosen;
  page.drawing = drawing;
  drawGraph();
}

function drawGraph() {
  const { chosen, drawing, explanation, state } = page;
  setTools();
  if (drawing) {
    const facts = new Map(explanation.reasons.flatMap((reason) => reason.facts).map((fact) => [fact.fact, fact]));
    graph.draw(drawing, facts, state.periphery === "1" ? explanation.periphery : []);
    graph.fit(byId("zoom-fit").getAttribute("aria-pressed") === "true");
  } else graph.empty(chosen ? `${aboutOf(chosen)}: there are no facts to draw.` : "Nothing connects the two around that time.");
  setSlider();
}

function setTools() {
  ["periphery", "zoom-in", "zoom-out", "zoom-fit"].map(byId).forEach((tool) => (tool.disabled = !page.drawing));
  document.querySelectorAll("[data-export]").forEach((button) => (button.disabled = !(button.dataset.export === "json" ? page.explanation : page.drawing)));
}

// The slider goes through the distances that occur, so that every step changes something.
function setSlider() {
  const facts = [...(page.chosen?.facts ?? []), ...(page.state.periphery === "1" ? page.explanation.periphery : [])];
  page.distances = [...new Set(facts.map(({ distance }) => distance).filter((distance) => distance != null).map(Math.abs))].sort((one, other) => one - other);
  const slider = byId("within");
  slider.max = page.distances.length;
  slider.disabled = !page.distances.length;
  const wanted = page.state.within == null ? -1 : page.distances.findLastIndex((distance) => distance <= Number(page.state.within));
  slider.value = page.state.within == null ? page.distances.length : Math.max(wanted, 0);
  page.cited = facts;
  dim();
}

function dim() {
  const place = Number(byId("within").value);
  const limit = place >= page.distances.length ? null : page.distances[place];
  update({ within: limit });
  graph.within(limit);
  showFacts(page.chosen, (fact) => isFar(fact, limit));
  const near = page.cited.filter((fact) => !isFar(fact, limit)).length;
  const words = limit === null ? "At any time" : limit === 0 ? `At ${page.state.time}` : `Within ${counted(limit, axis.word)} of ${page.state.time}`;
  byId("within-label").textContent = `${words}: ${near === page.cited.length ? "" : `${near} of `}${counted(page.cited.length, "fact")}`;
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask({ subject: subject.value, object: object.value, time: time.value || "?" });
});
byId("swap").addEventListener("click", () => {
  [subject.value, object.value] = [object.value, subject.value];
});
byId("hide-known").addEventListener("change", ({ target }) => update({ hide: target.checked ? "1" : null, predicate: null, reason: null, within: null }).then(() => page.answer && explain()));
byId("periphery").addEventListener("change", ({ target }) => update({ periphery: target.checked ? "1" : null }).then(() => page.explanation && drawGraph()));
byId("within").addEventListener("input", dim);
byId("zoom-in").addEventListener("click", () => graph.zoomBy(1.4));
byId("zoom-out").addEventListener("click", () => graph.zoomBy(1 / 1.4));
byId("zoom-fit").addEventListener("click", ({ target }) => {
  const whole = target.getAttribute("aria-pressed") !== "true";
  target.setAttribute("aria-pressed", String(whole));
  graph.fit(whole);
});
document.querySelectorAll("[data-export]").forEach((button) =>
  button.addEventListener("click", () => guarded("export", () => exportView(button.dataset.export, graph.svg, page.answer, page.explanation))));
addEventListener("popstate", () => axis && restore());
start();
