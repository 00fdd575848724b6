"""Sample questions: well answered ones for the first screen, and those that match words."""

from functools import partial

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Bools, Longs
from apptek.config import View
from apptek.facts.facts import Facts
from apptek.facts.name_matching import key_of
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import is_timeless
from apptek.models.asked_queries import query_of_fact
from apptek.present.metrics_text import examples_note
from apptek.present.sentences import clause
from apptek.server.responses import CountedName
from apptek.server.served_model import ServedModel

CARDS = 9  # one large, the others in rows of two or four
CANDIDATES = 1500  # facts that the cards are chosen from
ENOUGH = 200  # candidates of test; of fewer, those of train are better ones
CERTAIN = 0.97  # a nearly certain answer is not interesting
WORDS = 8  # characters of a search text that are used
NAMES = 3  # entities that a search offers besides
STOP_WORDS = frozenset(
    ("a", "against", "all", "an", "and", "at", "between", "by", "did", "do", "does", "for", "from",
     "happen", "happens", "how", "in", "is", "next", "of", "on", "the", "to", "what", "when",
     "where", "which", "who", "whom", "why", "will", "with")
)  # fmt: skip


class Question(BaseModel):
    """A sample query: a pair, a time, and the predicate of a fact of that time."""

    subject: str
    object: str
    time: str
    predicate: str
    label: str
    sentence: str = Field(description="The fact as a sentence.")
    group: str | None = Field(description="The group of its predicate, null if it has none.")
    facts: int = Field(
        description="The number of facts that the sentence counts, the last one at `time`."
    )
    view: View
    probability: float | None = Field(
        default=None, description="Of the predicate; only of questions that were not searched for."
    )


class Questions(BaseModel):
    """Sample queries, the best first; `ready` is false while the service looks for them."""

    ready: bool = True
    note: str = Field(
        default="", description="How the questions were selected, and how good the model is."
    )
    questions: list[Question]
    names: list[CountedName] = Field(
        default=[], description="Entities whose names match words that name no event."
    )


def striking_questions(served: ServedModel) -> Questions:
    """Return questions that the model answers well from earlier facts, of different pairs.

    Where no fact has a date, all facts are known.

    Rare predicates between entities with many facts come first; no entity and no predicate occurs
    twice. Facts of test come before those that the model was fitted on.
    """
    data = served.model.dataset
    facts, rows = data.test, _candidates(served, data.test)
    if len(rows) < ENOUGH:
        facts, rows = data.train, _candidates(served, data.train)
    queries = [query_of_fact(data, facts, int(row)) for row in rows]
    if not queries:
        return Questions(questions=[])
    graph = served.model.graph
    timeless = is_timeless(graph)
    view: View = "all_facts" if timeless else "past_only"
    answerer = served.predictor.answerer if timeless else served.predictor.answerer.past_view()
    ranked = answerer.ranked(answerer.queries_of(queries))
    truths = facts.predicates[rows]
    first = ranked.probabilities.argmax(axis=1)
    chances = ranked.probabilities[np.arange(len(rows)), first]
    right = first == truths  # never a wrong answer
    good = right & (chances < CERTAIN)
    fewest = np.minimum(served.counts[facts.subjects[rows]], served.counts[facts.objects[rows]])
    times_seen = np.bincount(data.train.predicates, minlength=len(data.predicates))
    # The rarer a predicate, the more an answer says.
    surprise = np.log2(1 + chances * len(data.train) / (1 + times_seen[first]))
    worth = np.where(good if good.sum() >= CARDS else right, np.sqrt(fewest) * surprise, 0.0)
    order = np.argsort(-worth, kind="stable")[: np.count_nonzero(worth)]
    chosen = _different(order, facts.take(rows))
    return Questions(
        note=examples_note(
            served.model.fitted(view).report.get("quality"),
            is_timeless=timeless,
            is_fitted=facts is data.train,
            is_used=facts is data.train or len(graph.facts) > len(data.train),
        ),
        questions=[
            _question(
                served, facts, int(rows[place]), count=1, view=view,
                probability=float(chances[place]),
            )
            for place in chosen
        ],
    )  # fmt: skip


def _candidates(served: ServedModel, facts: Facts) -> Longs:
    """Evenly spread facts from the second half of the time, between two different entities."""
    axis = served.model.dataset.axis
    times = axis.positions(facts.times)
    middle = (served.span.first + served.span.last) // 2
    rows = np.flatnonzero((facts.subjects != facts.objects) & (times != UNKNOWN) & (times > middle))
    if len(rows) == 0:
        rows = np.flatnonzero(facts.subjects != facts.objects)
    count = min(CANDIDATES, len(rows))
    return rows[np.linspace(0, len(rows) - 1, count).astype(int)] if count else rows


def _different(order: Longs, facts: Facts) -> list[int]:
    """Return the first of some facts that share no entity and no predicate."""
    chosen: list[int] = []
    entities, predicates = set[int](), set[int]()
    for place in order.tolist():
        ends = {int(facts.subjects[place]), int(facts.objects[place])}
        predicate = int(facts.predicates[place])
        if not ends & entities and predicate not in predicates:
            entities |= ends
            predicates.add(predicate)
            chosen.append(place)
    return chosen[:CARDS]


def find_questions(served: ServedModel, text: str, limit: int) -> Questions:
    """Return the pairs whose facts match all words of a text, by their names or the predicate.

    "korea visit" finds the visits of pairs with Korea in a name, those with the most first. Of a
    pair, the question has the direction and the predicate with the most matching facts. Names that
    match are returned in any case.
    """
    words = [word for word in key_of(text).split(" ") if word and word not in STOP_WORDS][:WORDS]
    graph = served.model.graph
    facts, data = graph.facts, served.model.dataset
    if not words:
        return Questions(questions=[])
    found = {word: _meaning(served, word) for word in words}
    # Skip a word without a meaning.
    meanings = [both for both in found.values() if both[0].any() or both[1].any()]
    names = _names(served, [word for word, both in found.items() if both[0].any()])
    described = facts.subjects != facts.objects if meanings else np.zeros(len(facts), np.bool_)
    for entities, predicates in meanings:
        described &= (
            entities[facts.subjects] | entities[facts.objects] | predicates[facts.predicates]
        )
    rows = np.flatnonzero(described)
    width = np.int64(len(data.entities))
    ways = facts.subjects[rows] * width + facts.objects[rows]
    kinds = ways * len(data.predicates) + facts.predicates[rows]
    _, firsts, counts = np.unique(kinds, return_index=True, return_counts=True)
    times = graph.axis.positions(facts.times[rows])
    questions: dict[frozenset[int], Question] = {}
    for kind in np.argsort(-counts, kind="stable").tolist():
        first = rows[firsts[kind]]
        pair = frozenset((int(facts.subjects[first]), int(facts.objects[first])))
        if pair not in questions:
            own = np.flatnonzero(kinds == kinds[firsts[kind]])
            row = int(rows[own[times[own].argmax()]])  # the latest of its facts
            questions[pair] = _question(
                served, facts, row, count=int(counts[kind]), view="all_facts"
            )
        if len(questions) == limit:
            break
    return Questions(questions=list(questions.values()), names=names)


def _names(served: ServedModel, words: list[str]) -> list[CountedName]:
    """Return the entities whose names match all words, or else any of them."""
    search = partial(served.index.search, limit=NAMES)
    ids = search(" ".join(words)) or [entity for word in words for entity in search(word)]
    names, counts = served.model.dataset.entities, served.counts
    chosen = dict.fromkeys(ids if words else [])
    return [CountedName(name=names[i], facts=int(counts[i])) for i in chosen][:NAMES]


def _meaning(served: ServedModel, word: str) -> tuple[Bools, Bools]:
    """Return the entities and the predicates that a word of a search can mean.

    An everyday word for an event means no entity: "war" is not Warren.
    """
    data, table = served.model.dataset, served.predictor.answerer.labels
    entities = np.zeros(len(data.entities), np.bool_)
    likes = [any(_is_like(own, word) for own in table.everyday_words(p)) for p in data.predicates]
    if not any(likes):
        entities[served.index.with_words([word])] = True
    texts = (
        f"{table.label(name)} {table.phrase(name) or ''} {table.class_of(name) or ''}"
        for name in data.predicates
    )
    named = [any(_is_like(own, word) for own in key_of(text).split(" ")) for text in texts]
    return entities, np.asarray(likes, np.bool_) | np.asarray(named, np.bool_)


def _is_like(own: str, word: str) -> bool:
    """Return whether a word begins like another one: visits, visited and visit are alike."""
    shared = max(len(word) - 3, 4)
    return own.startswith(word) or (len(own) >= 4 and own[:shared] == word[:shared])


def _question(
    served: ServedModel,
    facts: Facts,
    row: int,
    *,
    count: int,
    view: View,
    probability: float | None = None,
) -> Question:
    query = query_of_fact(served.model.dataset, facts, row)
    data, labels = served.model.dataset, served.predictor.answerer.labels
    name = data.predicates[int(facts.predicates[row])]
    return Question(
        subject=query.subject,
        object=query.object,
        time=query.time,
        predicate=name,
        label=labels.label(name),
        sentence=clause(labels.label(name), labels.phrase(name), query.subject, query.object),
        group=labels.group_of(name),
        facts=count,
        view=view,
        probability=probability,
    )
