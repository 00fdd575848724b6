"""Queries as plain tuples (including random ones from Hypothesis), as arrays and as episodes."""

import numpy as np
from hypothesis import strategies as st
from reference import PlainEpisode, PlainFact
from worlds import ENTITIES, moments

from apptek.arrays import Ints
from apptek.config import AgentConfig, Reward, Traversal
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.predictor import Query

# subject, object, time, hidden fact; None is an unknown entity, no time, or nothing hidden
PlainQuery = tuple[int | None, int | None, int | None, int | None]
_entities = st.none() | st.integers(0, ENTITIES - 1)


@st.composite
def plain_queries(draw: st.DrawFn, facts: list[PlainFact]) -> PlainQuery:
    """Any two entities at any time, or the query about a fact, which is then hidden."""
    if bool(facts) and draw(st.booleans()):
        index = draw(st.integers(0, len(facts) - 1))
        fact = facts[index]
        when = fact.until if fact.since is None else fact.since
        return fact.subject, fact.object, when, index
    return draw(_entities), draw(_entities), draw(st.none() | moments), None


def query_about(data: Dataset, facts: Facts, row: int) -> Query:
    """The query that a fact answers, in words."""
    subject, object_ = (data.entities[int(c[row])] for c in (facts.subjects, facts.objects))
    return Query(subject, object_, data.axis.format(int(facts.times[row])))


def queries_about(data: Dataset, facts: Facts) -> list[Query]:
    """The queries that facts answer, in words."""
    return [query_about(data, facts, row) for row in range(len(facts))]


def queries_of(plain: list[PlainQuery]) -> Queries:
    """The same queries as arrays."""

    def column(index: int, unknown: int) -> Ints:
        values = [query[index] for query in plain]
        return np.asarray([unknown if value is None else value for value in values], np.int32)

    return Queries(column(0, -1), column(1, -1), column(2, UNKNOWN), column(3, -1))


@st.composite
def agent_configs(draw: st.DrawFn) -> AgentConfig:
    """Settings of the decision process that make a difference on small graphs."""
    traversal: Traversal = draw(st.sampled_from(["both", "outgoing"]))
    reward: Reward = draw(st.sampled_from(["reached", "literal"]))
    return AgentConfig(
        tknn=draw(st.integers(1, 6)),
        tknn_strict=draw(st.booleans()),
        max_steps=draw(st.integers(1, 4)),
        traversal=traversal,
        reward=reward,
    )


def plain_episode(
    facts: list[PlainFact], query: PlainQuery, config: AgentConfig, max_steps: int | None = None
) -> PlainEpisode:
    """The oracle's episode for a query, with the configured or given number of steps."""
    return PlainEpisode(
        facts,
        query[:3],
        hidden=query[3],
        tknn=config.tknn,
        traversal=config.traversal,
        strict=config.tknn_strict,
        literal=config.reward == "literal",
        max_steps=config.max_steps if max_steps is None else max_steps,
    )
