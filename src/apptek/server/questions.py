"""Sample questions: some that the model answers well, for the first screen, and search results."""

from functools import partial

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Bools
from apptek.config import View
from apptek.facts.facts import Facts
from apptek.facts.name_matching import key_of
from apptek.graph.lookups import is_timeless
from apptek.models.asked_queries import query_of_fact
from apptek.present.metrics_text import examples_note
from apptek.present.sentences import clause
from apptek.server.requests import SearchQuery
from apptek.server.responses import CountedName
from apptek.server.served_model import ServedModel, sample_facts

CARDS = 9  # one large card, and the others in rows of two or four cards
WORDS = 8  # maximum number of characters used from a search text
NAMES = 3  # number of entities that a search also suggests
STOP_WORDS = frozenset(
    ("a", "against", "all", "an", "and", "at", "between", "by", "did", "do", "does", "for", "from",
     "happen", "happens", "how", "in", "is", "next", "of", "on", "the", "to", "what", "when",
     "where", "which", "who", "whom", "why", "will", "with")
)  # fmt: skip


class Question(BaseModel):
    """A sample query: a pair, a time, and the predicate of a fact at that time."""

    subject: str
    object: str
    time: str
    predicate: str
    label: str
    sentence: str = Field(description="The fact as a sentence.")
    group: str | None = Field(description="The group of its predicate; null if it has none.")
    facts: int = Field(
        description="The number of facts in the sentence; the last one is at `time`."
    )
    view: View
    probability: float | None = Field(
        default=None,
        description="The probability of the predicate; null in search results.",
    )


class Questions(BaseModel):
    """Sample queries, the best first."""

    note: str = Field(
        default="", description="How the questions were selected, and how good the model is."
    )
    questions: list[Question]
    names: list[CountedName] = Field(
        default=[], description="Entities whose names match words that are not event names."
    )


def example_questions(served: ServedModel) -> Questions:
    """Return facts of active entities that the model predicts from earlier facts.

    No entity or predicate occurs twice. If no fact has a date, the model sees all facts.
    """
    data, graph = served.model.dataset, served.model.graph
    facts, rows = sample_facts(data, served.counts)
    view: View = "all_facts" if is_timeless(graph) else "past_only"
    answerer = served.answerer(view)
    queries = [query_of_fact(data, facts, row) for row in rows]
    chances = answerer.ranked(answerer.queries_of(queries)).probabilities
    first, used = chances.argmax(axis=1).tolist(), set[tuple[str, int]]()
    questions = []
    for row, predicate, chance in zip(rows, first, chances.max(axis=1).tolist(), strict=True):
        ends = (int(facts.subjects[row]), int(facts.objects[row]))
        names = {("predicate", predicate), *(("entity", end) for end in ends)}
        if predicate == facts.predicates[row] and not names & used:
            used |= names
            questions.append(_question(served, facts, row, count=1, view=view, probability=chance))
    return Questions(
        note=examples_note(served.model.fitted(view).report.get("quality")),
        questions=questions[:CARDS],
    )


def search(served: ServedModel, asked: SearchQuery) -> Questions:
    """Return pairs whose facts match some words. Without words, return a few example questions."""
    if asked.q.strip():
        return find_questions(served, asked.q, asked.limit)
    work = served.background.start("examples", lambda: example_questions(served))
    return work.result()


def find_questions(served: ServedModel, text: str, limit: int) -> Questions:
    """Return the pairs whose facts match all words in a text, by entity or predicate name.

    "korea visit" finds pairs with Korea in a name and visits among their facts, most visits first.
    The question about a pair uses the direction and predicate with the most matching facts. Names
    that match are returned even if no fact matches.
    """
    words = [word for word in key_of(text).split(" ") if word and word not in STOP_WORDS][:WORDS]
    graph = served.model.graph
    facts, data = graph.facts, served.model.dataset
    if not words:
        return Questions(questions=[])
    found = {word: _meaning(served, word) for word in words}
    # Skip words that match nothing.
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
    """Return the entities whose names match all words. If there are none, match any word."""
    search = partial(served.index.search, limit=NAMES)
    ids = search(" ".join(words)) or [entity for word in words for entity in search(word)]
    names, counts = served.model.dataset.entities, served.counts
    chosen = dict.fromkeys(ids if words else [])
    return [CountedName(name=names[i], facts=int(counts[i])) for i in chosen][:NAMES]


def _meaning(served: ServedModel, word: str) -> tuple[Bools, Bools]:
    """Return the entities and predicates that a search word can mean.

    An everyday word for an event does not match entities: "war" does not match Warren.
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
    """Return whether two words share a stem: visits, visited and visit do."""
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
