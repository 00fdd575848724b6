// The explorer: a question in; its answer, ribbon, reasons, graph and forecast out. The address is
// the state.

import { get, post } from "./api.js";
import { Axis, TimeField } from "./axis.js";
import { Combobox } from "./combobox.js";
import { bindControls, enableAsking } from "./controls.js";
import { all, byId, markCurrent, waiting } from "./dom.js";
import { exportView } from "./export.js";
import { FirstScreen } from "./first_screen.js";
import { ForecastPanel } from "./forecast.js";
import { Graph } from "./graph.js";
import { GraphTools } from "./graph_tools.js";
import { latestTime } from "./lanes.js";
import { ListPages } from "./list_pages.js";
import { showModel } from "./model_summary.js";
import { clearProblems, guardedBy, showNotes } from "./notices.js";
import { Ranking, showMeter, showShares, toExplain } from "./ranking.js";
import { chosenOf, lightFacts, Reasons } from "./reasons.js";
import { Ribbon, showLegend } from "./ribbon.js";
import { rankedAt, sharesAt } from "./ribbon_shape.js";
import { QuestionSearch } from "./search.js";
import { FRESH, questionChanges, readNames, readState, readZoom } from "./state.js";
import { toggled, withName, writeState } from "./state.js";
import { StepByStep } from "./steps.js";
import { clearAnswer, EXPLAINED, isAbout, markOld, notesOf } from "./story.js";
import { showAnswer, showHeadline, showViews, Tones } from "./story.js";
import { Timelines } from "./timeline.js";
import { WhatIf } from "./what_if.js";
import { shown, timely } from "./wording.js";

const TOP = 30; // predicates that are fetched
const [NARROW, TITLE] = [760, document.title]; // pixels, as in screens.css
/** @type {any} */
const page = { state: {}, answer: null, explanation: null, whole: null };

const subject = new Combobox(byId("subject-field"), { id: "subject", label: "Who acts" });
const object = new Combobox(byId("object-field"), { id: "object", label: "On whom" });
void new QuestionSearch(byId("search-field"), { onAsk: (question) => ask(question) });
const graph = new Graph(byId("graph"), {
  onAsk: (role, name) => ask({ ...query(), [role]: name }),
  onExpand: (name) => push({ expand: toggled(page.state.expand, name) }).then(explain),
  expanded: () => readNames(page.state.expand),
  onResize: () => page.explanation && explain(),
});
const push = (changes) => update(changes, { push: true });
const whatIf = new WhatIf(page, { onChange: (changes) => push(changes).then(explain) });
const tools = new GraphTools(page, graph, {
  onUpdate: update,
  onStrike: (facts) => whatIf.strike(facts),
});
const stepByStep = new StepByStep(graph, { onSteps: (steps) => push({ steps }).then(showReason) });
const tones = new Tones();
const ranking = new Ranking({ onSelect: choosePredicate });
const reasons = new Reasons({
  onSelect: (reason) => update({ reason, within: null }).then(showReason),
  onPoint: (reason) => lightFacts(reason, graph, ribbon),
});
// These need the time axis of the model, and are made as soon as it is known.
/** @type {Axis} */ let axis;
/** @type {TimeField} */ let time;
/** @type {Timelines} */ let timelines;
/** @type {Ribbon} */ let ribbon;
/** @type {ForecastPanel} */ let forecasts;
/** @type {FirstScreen} */ let first;
/** @type {ListPages} */ let lists;

const query = () => ({
  subject: page.state.subject,
  object: page.state.object,
  time: page.state.time,
});

// The body of a question: about unknown names it is answered only on request.
const asking = () => ({ ...query(), ...(page.state.general && { allow_unknown: true }) });

const instead = (unknown, name) => ask(withName(query(), unknown, name));

const view = () => (page.state.view === "ahead" ? "ahead" : "within");

async function update(changes, options) {
  page.state = { ...page.state, ...changes };
  writeState(page.state, options);
}

const guarded = guardedBy({
  onRetry: () => (axis ? restore() : start()),
  onSuggestion: (where, name) => ask({ ...query(), [where]: name }),
  onGeneral: () => push({ general: "1" }).then(restore),
  onUnknown: (where) => (where === "subject" ? subject : object).offerMatches(),
});

function start() {
  return guarded("start", async () => {
    enableAsking(false);
    const model = await waiting([byId("ask")], get("/api/model"));
    enableAsking(true);
    axis = new Axis({ ...model.span, timeless: model.span.undated === model.counts.facts });
    page.axis = axis;
    page.forecasts = model.forecasts;
    time = new TimeField(byId("time-field"), axis);
    timelines = new Timelines(byId("lanes"), axis, {
      onZoom: (zoom) => update({ zoom }),
      guarded: (work) => guarded("timelines", work),
    });
    ribbon = new Ribbon(byId("ribbon"), axis, { onDay: moveDay, onSpan: changeSpan });
    forecasts = new ForecastPanel(axis, (days) => update({ days }).then(loadForecast));
    first = new FirstScreen(axis, { onAsk: ask });
    lists = new ListPages(axis, { onAsk: (question) => ask({ view: null, ...question }) });
    showModel(model, { axis });
    for (const link of all("[data-page=watch]")) link.hidden = !model.forecasts;
    await restore();
  });
}

// Ends what is under way for an earlier question.
function renew(work) {
  page[work]?.abort();
  page[work] = new AbortController();
  return page[work].signal;
}

// Shows the view that the address describes.
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
  byId("hide-known").checked = state.hide === "1";
  byId("nearby").checked = state.nearby === "1";
  const listed = ["watch", "audit"].includes(state.page);
  const complete = !listed && Boolean(state.subject && state.object);
  markCurrent(listed ? state.page : "");
  byId("list").hidden = !listed;
  byId("ask").hidden = listed;
  byId("welcome").hidden = listed || complete;
  if (complete) {
    markOld([...EXPLAINED, "ranking"], !isAbout(page.explanation, state));
    ribbon.keepOnly(state);
    await answer();
    return;
  }
  byId("result").hidden = true;
  page.answer = null;
  timelines.clear();
  ribbon.clear();
  if (listed) await guarded("list", () => lists.show(state.page, signal), signal);
  else await guarded("first", () => first.show(signal), signal);
}

function ask(changes) {
  scrollTo({ top: 0 });
  return update(questionChanges(page.state, changes), { push: true }).then(restore);
}

function answer() {
  const { signal } = page.answering;
  const work = async () => {
    if (!page.state.time) await update({ time: (await latestTime(query(), signal)) ?? axis.last });
    const { state } = page;
    time.value = state.time;
    const when = timely(`, ${state.time}`);
    document.title = `${shown(state.subject)}, ?, ${shown(state.object)}${when} · APPTeK`;
    await fetchAnswer(signal);
    if (signal.aborted) return;
    byId("result").hidden = false;
    const lanes = () => timelines.load(query(), readZoom(state.zoom), page.unknown);
    await Promise.all([
      explain(),
      guarded("ribbon", loadRibbon).then(() => (signal.aborted ? null : loadForecast())),
      guarded("timelines", lanes, signal),
    ]);
  };
  return guarded("answer", work, signal);
}

async function fetchAnswer(signal) {
  const body = { ...asking(), view: view(), top: TOP };
  const { answers, similar } = await waiting(
    [byId("ask")],
    post("/api/predict", body, signal),
  ).catch((problem) => {
    if (!signal.aborted) byId("result").hidden = true;
    throw problem;
  });
  if (signal.aborted) return;
  markOld(["ranking"], false);
  [page.answer] = answers;
  page.unknown = Object.keys(similar);
  byId("show-steps").disabled = page.unknown.length > 0;
  byId("answer-card").classList.toggle("general", page.unknown.length > 0);
  showViews(page.answer, page.state, axis);
}

async function loadRibbon() {
  const { time: when } = page.state;
  byId("that-time").hidden = axis.timeless || when === "?";
  byId("ribbon-card").hidden = axis.timeless || when === "?" || page.unknown.length > 0;
  if (byId("ribbon-card").hidden) return;
  const loading = ribbon.load(query(), { view: view(), span: readZoom(page.state.span) });
  const data = await waiting([byId("ribbon-card")], loading);
  tones.learn(data);
  showLegend(byId("legend"), data.layers);
  showRanking();
}

function loadForecast() {
  byId("forecast-card").hidden = !page.forecasts || page.state.subject === page.state.object;
  if (byId("forecast-card").hidden || !page.answer) return undefined;
  const { signal } = page.answering;
  return guarded("forecast", () => forecasts.load(asking(), page.state.days), signal);
}

function changeSpan(span) {
  update({ span: span ? span.join("..") : null });
  return guarded("ribbon", loadRibbon);
}

// The day was dragged: what the ribbon knows is shown at once, the rest as soon as it is there.
async function moveDay(when, place, done) {
  await update({ ...FRESH, time: when }, { push: !page.dragging }); // one step back from the whole drag
  page.dragging = !done;
  time.value = when;
  forecasts.expire();
  const signal = renew("answering");
  const current = ribbon.view === view(); // else the ribbon of this view is still on its way
  if (current) preview(when, place);
  if (!done) {
    follow();
    return;
  }
  if (!current) {
    await answer();
    return;
  }
  const whole = guarded("answer", () => fetchAnswer(signal).then(showRanking), signal);
  await Promise.all([whole, explain().then(() => timelines.moveTo(when))]);
  await loadForecast();
}

function preview(when, place) {
  const predicates = rankedAt(ribbon.data, place);
  showMeter(sharesAt(ribbon.data, place), (name) => tones.ofClass(name));
  Object.assign(page.answer, { predicates, view: ribbon.data.views[place], time: when });
  showViews(page.answer, page.state, axis);
  showHeadline(query(), predicates[0]);
  showRanking();
}

// While the day is dragged, one explanation is on its way at a time: that of the latest day.
async function follow() {
  if (page.following) return;
  page.following = true;
  const { time: when } = page.state;
  await explain();
  page.following = false;
  if (when !== page.state.time) await follow();
}

async function choosePredicate(predicate) {
  await update({ predicate, reason: null, within: null }, { push: true });
  await explain();
  if (innerWidth <= NARROW) byId("answer-card").scrollIntoView({ block: "start" });
}

function showRanking() {
  ranking.showAnswer(page, tones);
}

function explain() {
  const signal = renew("explaining");
  const work = async () => {
    showRanking();
    const body = {
      ...asking(),
      predicate: toExplain(page),
      view: view(),
      width: Math.min(graph.width, 1400),
      nearby: page.state.nearby === "1",
      expand: readNames(page.state.expand),
    };
    const cards = ["graph-card", "reasons-card", "facts-card"].map((id) => byId(id));
    const request = whatIf.explain(body, signal);
    const [explanation, whole] = await waiting(cards, request).catch((problem) => {
      if (!signal.aborted) clearExplanation();
      throw problem;
    });
    if (signal.aborted) return;
    markOld(EXPLAINED, false);
    Object.assign(page, { explanation, whole });
    showNotes(notesOf(explanation, page.answer, axis), explanation.similar, instead);
    const { by_group: groups, by_class: classes } = explanation;
    showShares(explanation);
    showMeter(groups.length ? groups : classes, (name) => tones.ofClass(name));
    whatIf.show(page.whole, explanation);
    update({ without: explanation.without.map(({ fact }) => fact).join(",") }); // what is no fact goes
    showRanking();
    showReason();
  };
  return guarded("reasons", work, signal);
}

// Removes an earlier explanation, so that it does not stand beside a problem.
function clearExplanation() {
  markOld(EXPLAINED, false);
  Object.assign(page, { explanation: null, chosen: null });
  clearAnswer();
  showNotes([]);
  reasons.clear();
  tools.clear();
}

function showReason() {
  const { explanation, state } = page;
  if (explanation) {
    page.chosen = chosenOf(explanation, state.reason);
    showAnswer(explanation, page.dragging);
    reasons.show(explanation, page.chosen?.number);
    tools.show();
  } else tools.clear();
  if (!stepByStep.mark(page.unknown.length ? null : state.steps)) return;
  const { signal } = page.explaining;
  guarded("steps", () => stepByStep.show(query(), view(), state.steps, signal), signal);
}

bindControls(page, {
  fields: () => ({ subject, object, time }),
  ask,
  query,
  update,
  explain,
  zoom: (factor) => ribbon.zoomBy(factor),
  findSmallest: () => {
    const { signal } = page.answering;
    const work = () => whatIf.findSmallest({ ...asking(), view: view() }, signal);
    return guarded("counterfactual", work, signal);
  },
  save: (kind) =>
    guarded("export", () => exportView(kind, graph.svg, page.answer, page.explanation)),
});
addEventListener("popstate", () => axis && restore());
start();
