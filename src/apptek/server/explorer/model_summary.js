// The page's summary of the model: the first lines and the footer.

import { all, byId } from "./dom.js";
import { counted, timely } from "./wording.js";

export function showModel({ summary, span, forecasts }, { axis }) {
  const {
    dataset,
    entities,
    predicates,
    answers_from: known_facts,
    training_facts: training,
  } = summary;
  for (const link of all("[data-page=watch]")) link.hidden = !forecasts;
  document.body.classList.toggle("timeless", axis.timeless);
  for (const part of all("[data-timely]")) part.hidden = axis.timeless;
  const when = timely(`, ${span.first} to ${span.last}`);
  const known = `${counted(known_facts, "fact")} about ${counted(entities, "entity")}`;
  const questions = timely(
    " at a time: see the likely event, the reasons, and the forecast.",
    ", and why.",
  );
  byId("lede").textContent = `Ask what one actor does to another${questions}`;
  const facts = known_facts > training ? "all" : "the training";
  byId("footer").textContent =
    `Answers come from ${facts} facts of ${dataset}: ${known}, ${counted(predicates, "predicate")}${when}. ` +
    "Nothing leaves this machine.";
  for (const part of all("[data-unit]")) part.textContent = axis.word;
  byId("span-out").ariaLabel = `Show more ${axis.word}s`;
  byId("span-in").ariaLabel = `Show fewer ${axis.word}s`;
  byId("span-all").ariaLabel = `Show all ${axis.word}s`;
}
