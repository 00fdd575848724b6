// An actor's page: what it did and received over time, who it will act on, who will act on it, and
// its watch list. Police (Egypt) and Citizen (Egypt) can be counted as Egypt.

import { get, getReady, post, predicates, timelinePath } from "./api.js";
import { CountCharts } from "./counts_chart.js";
import { byId, el, questionLink, soft, span, waiting } from "./dom.js";
import { windowOf } from "./forecast.js";
import { chanceColumns, eventChoice, groupsOf, lengthChoice, watchColumns } from "./watch.js";
import { plainTable } from "./list_table.js";
import { addressOf } from "./state.js";
import { counted, percent, shown } from "./wording.js";

const [TOP, WATCHED] = [10, 10]; // number of partners on each side, and of pairs to watch

export class ActorPage {
  // onChange(state changes): show the page differently.
  constructor(axis, { onAsk, onChange, forecasts }) {
    this.axis = axis;
    this.onAsk = onAsk;
    this.onChange = onChange;
    this.forecasts = forecasts;
    this.charts = new CountCharts(byId("list"), axis);
  }

  async show(state, signal) {
    byId("list").replaceChildren(el("p", { class: "empty" }, "Looking …"));
    const members = state.members === "1";
    const steps = windowOf(this.axis, state.days);
    const { subject: actor, group, class: kind, predicate } = state;
    const asked = { actor, members, steps, top: TOP, group, class: kind, predicate };
    const work = Promise.all([
      get(timelinePath(actor), { limit: 1, members }, signal),
      predicates(),
      this.forecasts ? post("/api/partners", asked, signal).catch(tellProblem) : null,
    ]);
    const [timeline, known, forecast] = await waiting([byId("list")], work).catch((problem) => {
      if (!signal.aborted) byId("list").replaceChildren();
      throw problem;
    });
    if (signal.aborted) return;
    const watch = el("div", {});
    const forecasts = [...this.outlook(forecast, known, shown(timeline.entity)), watch];
    byId("list").replaceChildren(
      el("h1", {}, shown(timeline.entity)),
      soft(`${counted(timeline.total, "fact")}. ${membersText(timeline, members)}`),
      el("div", { class: "list-tools" }, ...this.tools(state, steps, known, timeline)),
      ...this.history(timeline),
      ...(this.forecasts ? forecasts : []),
    );
    this.charts.draw();
    if (this.forecasts) await this.showWatch(watch, state, steps, known, signal);
  }

  tools(state, steps, known, { members }) {
    const onchange = ({ target }) => this.onChange({ members: target.checked ? "1" : null });
    const checked = state.members === "1";
    const combine = el("input", { type: "checkbox", id: "members", checked, onchange });
    const label = `Combine ${counted(members.length, "member")}`;
    return [
      ...(this.forecasts ? [lengthChoice(this.axis, steps, this.onChange)] : []),
      ...(this.forecasts ? [eventChoice(known, state, this.onChange)] : []),
      members.length > 1 ? el("label", { class: "check" }, combine, label) : null,
    ];
  }

  // What the actor did and received.
  history({ entity, does, receives, layers, first, last }) {
    const name = shown(entity);
    const charts = [
      { title: `What ${name} did`, counts: does },
      { title: `What was done to ${name}`, counts: receives },
    ];
    const cards = this.charts.cards(charts, { layers, first, last });
    return this.axis.timeless ? [] : [el("div", { class: "two" }, ...cards)];
  }

  // Who the actor will act on, and who will act on it.
  outlook(forecast, known, name) {
    if (!forecast || forecast.problem) return forecast ? [soft(forecast.problem)] : [];
    const groups = groupsOf(known);
    const { first, last, acts_on: out, acted_on_by: back } = forecast;
    const when = first === last ? first : `${first} to ${last}`;
    const side = (title, rows, partner, others) => [
      el("h2", {}, title),
      soft(`${when}. Chance of a new partner: roughly ${percent(others)}.`),
      rows.length
        ? plainTable(rows, partnerColumns(forecast, groups, partner, this.onAsk), title)
        : soft("None."),
    ];
    const event = forecast.event ? ` (${shown(forecast.event)})` : "";
    return [
      ...side(`${name} will act on${event}`, out, "object", forecast.others_acted_on),
      ...side(`Who will act on ${name}${event}`, back, "subject", forecast.others_acting),
    ];
  }

  async showWatch(place, state, steps, known, signal) {
    const { subject, group, class: kind, predicate } = state;
    const events = { group, class: kind, predicate };
    const ends = state.members === "1" ? { country: subject } : { entity: subject };
    const values = { ...ends, ...events, steps, limit: WATCHED };
    const meanwhile = () => place.replaceChildren(soft("Comparing the chances …"));
    const found = await getReady("/api/watch", values, signal, meanwhile).catch(tellProblem);
    if (signal.aborted || found.problem) return;
    const all = addressOf({ page: "watch", ...ends, ...events, days: state.days });
    place.replaceChildren(
      el("h2", {}, "Largest changes"),
      found.rows.length
        ? plainTable(
            found.rows,
            watchColumns(found, groupsOf(known), this.onAsk),
            "Largest changes",
          )
        : soft("No chance changes by one percentage point or more."),
      el("p", { class: "list-more" }, el("a", { href: all }, "Show the whole watch list")),
    );
  }
}

// The service's message if it has no answer for this part of the page.
function tellProblem(problem) {
  if (problem.status !== 422) throw problem;
  return { problem: problem.detail };
}

export function membersText({ members }, isCombined) {
  const others = members.slice(0, 4).map(shown).join(", ");
  const more = members.length > 4 ? ` and ${members.length - 4} more` : "";
  return isCombined ? `Counted together: ${others}${more}.` : "";
}

function partnerColumns(forecast, groups, partner, onAsk) {
  const { first, longest, unit } = forecast;
  const name = {
    title: partner === "object" ? "Toward" : "Who acts",
    value: (row) => shown(row[partner]),
    cell: ({ subject, object }, text) => [
      questionLink({ subject, object, time: first }, onAsk, {}, text),
    ],
  };
  const median = {
    title: "Next event",
    value: (row) => medianText(row.median, longest, unit),
    cell: (_, text) => [span("soft", text)],
  };
  const reason = { title: "Main reason", value: (row) => shown(row.reason), soft: true };
  return [name, ...chanceColumns(groups), median, reason];
}

// The time by which the next event comes in half of the cases.
export const medianText = (median, longest, unit) =>
  median === null ? `more than ${counted(longest, unit)}` : `within ${counted(median, unit)}`;
