// The explorer: takes a question and shows its answer, ribbon, reasons, graph and forecast.
// The address holds the state.

import { get } from "./api.js";
import { Axis, TimeField } from "./axis.js";
import { Combobox } from "./combobox.js";
import { bindControls, enableAsking, showModel } from "./controls.js";
import { all, byId, markCurrent, waiting } from "./dom.js";
import { saveDrawing } from "./export.js";
import { FirstScreen } from "./first_screen.js";
import { ForecastPanel } from "./forecast.js";
import { Graph } from "./graph.js";
import { Pages } from "./pages.js";
import { clearProblems, guardedBy, showNotes } from "./notices.js";
import { Ranking, showMeter } from "./ranking.js";
import { chosenOf, Reasons, showFacts } from "./reasons.js";
import { Ribbon, showLegend } from "./ribbon.js";
import { rankedAt, sharesAt } from "./ribbon_shape.js";
import { QuestionSearch } from "./search.js";
import { FRESH, queryOf, questionChanges, readState, readZoom, writeState } from "./state.js";
import { StepByStep } from "./steps.js";
import { clearAnswer, isAbout, notesOf, showAnswer, showHeadline } from "./story.js";
import { showViews, Tones } from "./story.js";
import { SupposeForm } from "./suppose.js";
import { latestTime, PairFacts } from "./pair_facts.js";
import { WhatIf } from "./what_if.js";
import { shown, timely } from "./wording.js";

const OF = { name: "subject", actor: "subject" }; // problem fields, as named in the address
const [NARROW, TITLE] = [760, document.title]; // pixels, as in screens.css
/** @type {any} */
const page = { state: {}, answer: null, explanation: null, unknown: [] };

const subject = new Combobox(byId("subject-field"), { id: "subject", label: "Who acts" });
const object = new Combobox(byId("object-field"), { id: "object", label: "Toward" });
void new QuestionSearch(byId("search-field"), { onAsk: (question) => ask(question) });
const graph = new Graph(byId("graph"), {
  onAsk: (role, name) => ask({ ...query(), [role]: name }),
  onResize: () => page.explanation && explain(),
});
const push = (changes) => update(changes, { push: true });
const whatIf = new WhatIf(page, {
  onChange: (changes) => push(changes).then(explain).then(loadForecast),
});
const stepByStep = new StepByStep(graph, { onSteps: (steps) => push({ steps }).then(showReason) });
const tones = new Tones();
const ranking = new Ranking({ onSelect: choosePredicate });
const reasons = new Reasons({
  onSelect: (reason) => update({ reason }).then(showReason),
  onPoint: (reason) => graph.light(reason && [reason.number, reason.same_as].filter(Boolean)),
});
// These need the model's time axis and are created as soon as it is known.
/** @type {any} */
let [axis, time, pairFacts, ribbon, forecasts, first, pages] = [];

const query = () => queryOf(page.state);

// The body of a question; unknown names are answered only on request.
const asking = () => ({ ...query(), ...(page.state.general && { allow_unknown: true }) });

const view = () => (page.state.view === "past_only" ? "past_only" : "all_facts");

async function update(changes, options) {
  page.state = { ...page.state, ...changes };
  writeState(page.state, options);
}

const guarded = guardedBy({
  onRetry: () => (axis ? restore() : start()),
  onSuggestion: (where, name) =>
    ask({ ...query(), page: page.state.page, [OF[where] ?? where]: name }),
  onGeneral: () => push({ general: "1" }).then(restore),
  onUnknown: (where) => (where === "subject" ? subject : object).offerMatches(),
});

function start() {
  return guarded("start", async () => {
    enableAsking(false);
    const model = await waiting([byId("ask")], get("/api/model"));
    enableAsking(true);
    axis = new Axis({ ...model.span, timeless: model.span.undated === model.summary.answers_from });
    const { forecasts: hasForecasts } = model;
    page.forecasts = hasForecasts;
    time = new TimeField(byId("time-field"), axis);
    pairFacts = new PairFacts((work) => guarded("timelines", work));
    ribbon = new Ribbon(byId("ribbon"), axis, { onDay: moveDay, onSpan: changeSpan });
    forecasts = new ForecastPanel(axis, (days) => update({ days }).then(loadForecast));
    first = new FirstScreen(axis, { onAsk: ask });
    pages = new Pages(axis, {
      onAsk: (question) => ask({ view: null, ...question }),
      onChange: (changes) => push(changes).then(restore),
      forecasts: hasForecasts,
    });
    void new SupposeForm(axis, { query, onSuppose: (fact) => whatIf.suppose(fact) });
    showModel(model, { axis });
    await restore();
  });
}

// Cancels requests that belong to an earlier question.
function renew(work) {
  page[work]?.abort();
  page[work] = new AbortController();
  return page[work].signal;
}

// Shows the view described by the address.
async function restore() {
  page.explaining?.abort();
  renew("answering");
  const signal = renew("listing");
  forecasts.expire();
  page.dragging = false;
  clearProblems();
  document.title = TITLE;
  page.state = readState();
  const { state } = page;
  subject.value = state.subject ?? "";
  object.value = state.object ?? "";
  time.value = state.time || axis.last;
  const listed = pages.open(state);
  const complete = !listed && Boolean(state.subject && state.object);
  markCurrent(listed ? state.page : "");
  byId("ask").hidden = listed;
  byId("welcome").hidden = listed || complete;
  if (complete) {
    byId("result").inert = !isAbout(page.explanation, state); // it shows an earlier question
    ribbon.keepOnly(state);
    await answer();
    return;
  }
  byId("result").hidden = true;
  page.answer = null;
  ribbon.clear();
  await guarded("list", () => (listed ? pages : first).show(state, signal), signal);
}

function ask(changes) {
  scrollTo({ top: 0 });
  return update(questionChanges(page.state, changes), { push: true }).then(restore);
}

// A question needs three requests: its explanation, then ribbon and forecast in parallel.
function answer() {
  const { signal } = page.answering;
  const work = async () => {
    if (!page.state.time) await update({ time: (await latestTime(query(), signal)) ?? axis.last });
    const { state } = page;
    time.value = state.time;
    const when = timely(`, ${state.time}`);
    document.title = `${shown(state.subject)}, ?, ${shown(state.object)}${when} · APPTeK`;
    const result = byId("result");
    result.hidden = false; // the graph takes its width from it
    result.classList.toggle("stale", !page.explanation);
    await waiting([byId("ask")], fetchExplanation(renew("explaining"))).catch((problem) => {
      if (problem.name === "AbortError") return; // another explanation is being loaded
      result.hidden = true;
      throw problem;
    });
    if (signal.aborted) return;
    result.classList.remove("stale");
    await Promise.all([guarded("ribbon", loadRibbon), loadForecast()]);
  };
  return guarded("answer", work, signal);
}

async function loadRibbon() {
  const { time: when } = page.state;
  byId("ribbon-card").hidden = axis.timeless || when === "?" || page.unknown.length > 0;
  const span = readZoom(page.state.span);
  const { subject: one, object: other } = query();
  pairFacts.show(page.unknown.length ? null : { subject: one, object: other });
  if (byId("ribbon-card").hidden) return;
  const loading = ribbon.load(query(), { view: view(), span });
  const data = await waiting([byId("ribbon-card")], loading);
  tones.learn(data);
  showLegend(byId("legend"), data);
  showRanking();
}

function loadForecast() {
  const isHidden = !page.forecasts || page.state.subject === page.state.object;
  for (const id of ["forecast-card", "occurrence"]) byId(id).hidden = isHidden;
  if (isHidden || !page.answer) return undefined;
  const { signal } = page.answering;
  const { supposed: suppose } = whatIf;
  return guarded(
    "forecast",
    () => forecasts.load({ ...asking(), suppose }, page.state.days),
    signal,
  );
}

function changeSpan(span) {
  update({ span: span ? span.join("..") : null });
  return guarded("ribbon", loadRibbon);
}

// The day was dragged: show what the ribbon knows immediately, and the rest when it arrives.
async function moveDay(when, place, done) {
  await update({ ...FRESH, time: when }, { push: !page.dragging }); // one history step per drag
  page.dragging = !done;
  time.value = when;
  forecasts.expire();
  const signal = renew("answering");
  const current = ribbon.view === view(); // otherwise this view's ribbon is still loading
  if (current) preview(place);
  if (!done) {
    follow();
    return;
  }
  if (!current) {
    await answer();
    return;
  }
  await explain();
  if (!signal.aborted) await loadForecast();
}

function preview(place) {
  const predicates = rankedAt(ribbon.data, place);
  showMeter(sharesAt(ribbon.data, place), tones);
  page.answer = { predicates };
  showViews(ribbon.data.views[place], page.state, axis);
  showHeadline(query(), predicates[0]);
  showRanking();
}

// While the day is dragged, load one explanation at a time: the one for the latest day.
async function follow() {
  if (page.following) return;
  page.following = true;
  const { time: when } = page.state;
  await explain();
  page.following = false;
  if (when !== page.state.time) await follow();
}

async function choosePredicate(predicate) {
  await update({ predicate, reason: null }, { push: true });
  await explain();
  if (innerWidth <= NARROW) byId("answer-card").scrollIntoView({ block: "start" });
}

const showRanking = () => page.answer && ranking.show(page, tones);

function explain() {
  const signal = renew("explaining");
  showRanking();
  const cards = all("#graph-card, #reasons-card, #facts-card");
  return guarded("reasons", () => waiting(cards, fetchExplanation(signal)), signal);
}

async function fetchExplanation(signal) {
  const body = {
    ...asking(),
    predicate: page.state.predicate,
    view: view(),
    width: Math.min(graph.width, 1400),
  };
  const key = JSON.stringify([query(), view()]);
  const [explanation, answered] = await whatIf.explain(body, key, signal).catch((problem) => {
    if (!signal.aborted) clearExplanation();
    throw problem;
  });
  if (signal.aborted) return;
  byId("result").inert = false;
  page.unknown = Object.keys(explanation.similar);
  byId("show-steps").disabled = page.unknown.length > 0;
  byId("answer-card").classList.toggle("general", page.unknown.length > 0);
  if (!page.dragging) {
    page.answer = answered;
    showViews(explanation.view, page.state, axis);
  }
  page.explanation = explanation;
  showNotes(notesOf(explanation, axis));
  const { by_class: classes, by_group: groups } = explanation;
  showMeter(groups.length ? groups : classes, tones);
  whatIf.show(answered.predicates, explanation);
  showRanking();
  showReason();
}

// Removes an earlier explanation, so that it is not shown next to a problem.
function clearExplanation() {
  byId("result").inert = false;
  Object.assign(page, { explanation: null, chosen: null });
  clearAnswer();
  showNotes([]);
  reasons.clear();
  graph.show(null);
}

function showReason() {
  const { explanation, state } = page;
  if (explanation) {
    page.chosen = chosenOf(explanation, state.reason);
    showAnswer(explanation, page.dragging);
    reasons.show(explanation, page.chosen?.number);
    showFacts(page.chosen, (fact) => whatIf.strike([fact.fact]));
  }
  graph.show(explanation);
  if (!stepByStep.mark(page.unknown.length ? null : state.steps)) return;
  const { signal } = page.explaining;
  guarded("steps", () => stepByStep.show(query(), view(), state.steps, signal), signal);
}

bindControls(page, {
  fields: () => ({ subject, object, time }),
  ask,
  query,
  zoom: (factor) => ribbon.zoomBy(factor),
  findSmallest: () => {
    const { signal } = page.answering;
    const work = () => whatIf.findSmallest({ ...asking(), view: view() }, signal);
    return guarded("counterfactual", work, signal);
  },
  save: () => guarded("export", () => saveDrawing(graph.svg, page.explanation)),
});
addEventListener("popstate", () => axis && restore());
start();
