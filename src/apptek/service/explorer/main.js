// The explorer: a query in; its ranking, reasons, graph and history out. The address is the state.

import { get, post } from "./api.js";
import { Axis, TimeField } from "./axis.js";
import { Combobox } from "./combobox.js";
import { byId, el, waiting } from "./dom.js";
import { exportView } from "./export.js";
import { Graph, isFar } from "./graph.js";
import { showModel } from "./model_summary.js";
import { clearProblems, showNotes, showProblem } from "./notices.js";
import { Ranking, showShares } from "./ranking.js";
import { aboutOf, drawingOf, Reasons, showFacts } from "./reasons.js";
import { readState, readZoom, writeState } from "./state.js";
import { Timelines } from "./timeline.js";
import { counted, percent, shown } from "./wording.js";

const TOP = 30; // predicates that are fetched
const TITLE = document.title;
const page = { state: {}, answer: null, explanation: null };

const subject = new Combobox(byId("subject-field"), {
  id: "subject",
  label: "Subject",
  placeholder: "Who or what acts",
});
const object = new Combobox(byId("object-field"), {
  id: "object",
  label: "Object",
  placeholder: "On whom or what",
});
const graph = new Graph(byId("graph"), {
  onAsk: (role, name) => ask({ ...query(), [role]: name }),
});
const ranking = new Ranking({
  onSelect: (predicate) =>
    update({ predicate, reason: null, within: null }, { push: true }).then(explain),
});
const reasons = new Reasons({
  onSelect: (reason) => update({ reason, within: null }).then(showReason),
});
// These need the time axis of the model, and are made as soon as it is known.
let axis = null;
let time = null;
let timelines = null;

const query = () => ({
  subject: page.state.subject,
  object: page.state.object,
  time: page.state.time,
});

async function update(changes, options) {
  page.state = { ...page.state, ...changes };
  writeState(page.state, options);
}

// Does some work of a part of the page (source), and shows its problem until it works again.
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
    axis = new Axis({ ...model.span, timeless: model.span.undated === model.counts.facts });
    time = new TimeField(byId("time-field"), axis);
    timelines = new Timelines(byId("lanes"), axis, {
      onZoom: (zoom) => update({ zoom }),
      guarded: (work) => guarded("timelines", work),
    });
    showModel(model, { axis, onAsk: ask });
    showNotes([]);
    await restore();
  });
}

// Shows the view that the address describes.
async function restore() {
  page.answering?.abort();
  page.explaining?.abort();
  page.answering = new AbortController();
  clearProblems();
  showNotes([]);
  document.title = TITLE;
  page.state = readState();
  const { state } = page;
  subject.value = state.subject ?? "";
  object.value = state.object ?? "";
  time.value = state.time ?? axis.last;
  byId("hide-known").checked = state.hide === "1";
  byId("periphery").checked = state.periphery === "1";
  const complete = Boolean(state.subject && state.object && state.time);
  byId("welcome").hidden = complete;
  if (complete) {
    await answer();
  } else {
    byId("result").hidden = true;
    timelines.clear();
  }
}

function ask(changes) {
  const view = { predicate: null, reason: null, within: null, zoom: null };
  return update({ ...view, ...changes }, { push: true }).then(restore);
}

function answer() {
  const { signal } = page.answering;
  const { state } = page;
  const work = async () => {
    document.title = `${shown(state.subject)}, ?, ${shown(state.object)}, ${state.time} · APPTeK`;
    const request = post("/api/predict", { ...query(), top: TOP, allow_unknown: false }, signal);
    const { answers } = await waiting([byId("ask")], request).catch((problem) => {
      if (!signal.aborted) byId("result").hidden = true;
      throw problem;
    });
    if (signal.aborted) return;
    [page.answer] = answers;
    byId("result").hidden = false;
    showShares(page.answer);
    await Promise.all([
      explain(),
      guarded("timelines", () => timelines.load(query(), readZoom(page.state.zoom)), signal),
    ]);
  };
  return guarded("answer", work, signal);
}

// The predicate to explain: the chosen one, else the first that is not hidden.
function selected() {
  const hide = page.state.hide === "1";
  const { predicates } = page.answer;
  const first = predicates.find(({ known }) => !(hide && known)) ?? predicates[0];
  return page.state.predicate ?? first.predicate;
}

function explain() {
  page.explaining?.abort();
  page.explaining = new AbortController();
  const { signal } = page.explaining;
  const work = async () => {
    const predicate = selected();
    ranking.show(page.answer.predicates, { hide: page.state.hide === "1", selected: predicate });
    const request = post("/api/explain", { ...query(), predicate, allow_unknown: false }, signal);
    const cards = ["graph-card", "reasons-card", "facts-card"].map((id) => byId(id));
    const explanation = await waiting(cards, request).catch((problem) => {
      if (!signal.aborted) clearExplanation();
      throw problem;
    });
    if (signal.aborted) return;
    page.explanation = explanation;
    showNotes(notesOf(explanation));
    showReason();
  };
  return guarded("reasons", work, signal);
}

// The notes of an explanation. A time outside the data replaces the note that it is unseen.
function notesOf({ notes }) {
  if (!page.answer.outside_span) return notes;
  const { time: when } = page.state;
  const outside = axis.timeless
    ? `All facts are undated, so none is near ${when}.`
    : `${when} is outside the time of the data (${axis.first} to ${axis.last}). ` +
      "The answer comes from the nearest facts.";
  return [outside, ...notes.filter((note) => !note.startsWith("No fact is dated"))];
}

// Removes an earlier explanation, so that it does not stand beside a problem.
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
  const numbered = [...explanation.reasons, ...explanation.against];
  const chosen =
    numbered.find(({ number }) => String(number) === String(state.reason)) ??
    numbered.find((reason) => drawingOf(explanation, reason)) ??
    numbered[0];
  const drawing = drawingOf(explanation, chosen);
  const first = explanation.ranked[0].predicate === explanation.predicate;
  byId("answer").replaceChildren(
    el("span", {}, shown(explanation.label)),
    el("span", { class: "share" }, percent(explanation.probability)),
  );
  const { runner_up_label: other, runner_up_probability: share } = explanation;
  const comparison = first ? "rather than" : "less probable than";
  byId("rather").textContent = `${comparison} ${shown(other)} (${percent(share)})`;
  reasons.show(explanation, chosen?.number);
  page.chosen = chosen;
  page.drawing = drawing;
  drawGraph();
}

function drawGraph() {
  const { chosen, drawing, explanation, state } = page;
  setTools();
  if (drawing) {
    const numbered = [...explanation.reasons, ...explanation.against];
    const cited = numbered.flatMap((reason) => reason.facts);
    const facts = new Map(cited.map((fact) => [fact.fact, fact]));
    graph.draw(drawing, facts, state.periphery === "1" ? explanation.periphery : []);
    graph.fit(byId("zoom-fit").getAttribute("aria-pressed") === "true");
  } else if (chosen) {
    graph.empty(`${aboutOf(chosen)}: there are no facts to draw.`);
  } else {
    graph.empty("Nothing connects the two around that time.");
  }
  setSlider();
}

// Only tools that have something to work on can be used.
function setTools() {
  for (const id of ["periphery", "zoom-in", "zoom-out", "zoom-fit"]) {
    byId(id).disabled = !page.drawing;
  }
  for (const button of document.querySelectorAll("[data-export]")) {
    button.disabled = !(button.dataset.export === "json" ? page.explanation : page.drawing);
  }
}

// The slider has a stop for each distance in time that occurs, and a last one for all facts.
function setSlider() {
  const { chosen, explanation, state } = page;
  page.facts = [
    ...(chosen?.facts ?? []),
    ...(state.periphery === "1" ? explanation.periphery : []),
  ];
  const dated = page.facts.filter(({ distance }) => distance != null);
  const distances = new Set(dated.map(({ distance }) => Math.abs(distance)));
  page.distances = [...distances];
  page.distances.sort((a, b) => a - b);
  const slider = byId("within");
  slider.max = page.distances.length;
  slider.disabled = !page.distances.length;
  if (state.within == null) {
    slider.value = page.distances.length;
  } else {
    const limit = Number(state.within);
    const stop = page.distances.findLastIndex((distance) => distance <= limit);
    slider.value = Math.max(stop, 0);
  }
  dimFarFacts();
}

function dimFarFacts() {
  const limit = page.distances[Number(byId("within").value)] ?? null;
  update({ within: limit });
  graph.within(limit);
  showFacts(page.chosen, (fact) => isFar(fact, limit));
  const near = page.facts.filter((fact) => !isFar(fact, limit)).length;
  const share = near === page.facts.length ? "" : `${near} of `;
  byId("within-label").textContent =
    `${rangeText(limit)}: ${share}${counted(page.facts.length, "fact")}`;
}

function rangeText(limit) {
  if (limit === null) return "At any time";
  if (limit === 0) return `At ${page.state.time}`;
  return `Within ${counted(limit, axis.word)} of ${page.state.time}`;
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask({ subject: subject.value, object: object.value, time: time.value || "?" });
});
byId("swap").addEventListener("click", () => {
  [subject.value, object.value] = [object.value, subject.value];
});
byId("hide-known").addEventListener("change", async ({ target }) => {
  const hide = target.checked ? "1" : null;
  await update({ hide, predicate: null, reason: null, within: null });
  if (page.answer) await explain();
});
byId("periphery").addEventListener("change", async ({ target }) => {
  await update({ periphery: target.checked ? "1" : null });
  if (page.explanation) drawGraph();
});
byId("within").addEventListener("input", dimFarFacts);
byId("zoom-in").addEventListener("click", () => graph.zoomBy(1.4));
byId("zoom-out").addEventListener("click", () => graph.zoomBy(1 / 1.4));
byId("zoom-fit").addEventListener("click", ({ target }) => {
  const whole = target.getAttribute("aria-pressed") !== "true";
  target.setAttribute("aria-pressed", String(whole));
  graph.fit(whole);
});
for (const button of document.querySelectorAll("[data-export]")) {
  const work = () => exportView(button.dataset.export, graph.svg, page.answer, page.explanation);
  button.addEventListener("click", () => guarded("export", work));
}
addEventListener("popstate", () => axis && restore());
start();
