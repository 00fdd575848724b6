// What the page says about the model: the line at the top, the footer, and sample questions.

import { byId, el } from "./dom.js";
import { counted, shown } from "./wording.js";

export function showModel({ dataset, preset, protocol, counts, span, samples }, { axis, onAsk }) {
  const sizes = [
    counted(counts.facts, "fact"),
    counted(counts.entities, "entity"),
    counted(counts.predicates, "predicate"),
  ];
  const when = axis.timeless ? "all undated" : `${span.first} to ${span.last}`;
  byId("about").replaceChildren(
    el("b", {}, dataset),
    ` ${sizes.join(" · ")} · `,
    el("span", { class: "when" }, when),
  );
  const topologies = counts.topologies ? `, ${counted(counts.topologies, "topology")}` : "";
  const facts = counts.facts > counts.train ? "all facts" : "the training facts";
  byId("footer").textContent =
    `Model: preset ${preset}, protocol ${protocol}${topologies}. It answers from ${facts}.`;
  byId("that-time").textContent = span.unit === "integer" ? "at that time" : `that ${span.unit}`;
  byId("samples").replaceChildren(...samples.map((sample) => sampleButton(sample, onAsk)));
}

const sampleButton = (sample, onAsk) =>
  el(
    "button",
    { type: "button", class: "sample card", onclick: () => onAsk(sample) },
    el("span", { class: "who" }, shown(sample.subject)),
    el("span", { class: "what" }, "?"),
    el("span", { class: "who" }, shown(sample.object)),
    el("span", { class: "soft" }, sample.time),
  );
