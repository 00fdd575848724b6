import json
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainEpisode, PlainFact
from test_environment import Query as PlainQuery
from test_environment import queries_of, questions, settings_of
from worlds import PREDICATES, graph_of, plain_facts

from apptek.agent.environment import Queries, World, training_queries
from apptek.config import AgentConfig
from apptek.data.synthetic import World as PlantedWorld
from apptek.data.synthetic import make_world
from apptek.data.times import UNKNOWN, TimeAxis
from apptek.errors import ApptekError, TimeFormatError
from apptek.prediction.explanation import CitedFact, Explanation, Reason, explain
from apptek.prediction.explanation_text import explanation_text
from apptek.prediction.predictor import Predictor, Query
from apptek.prediction.presets import preset
from apptek.prediction.wording import (
    apart_text,
    counted,
    listed,
    percent,
    printable,
    signed,
    when_text,
)
from apptek.settings import with_settings
from apptek.topologies.connection import Surroundings, connect, time_distance

RETALIATION = {"Mobilize or increase armed forces", "Provide military aid"}


@pytest.fixture(scope="module")
def planted() -> PlantedWorld:
    return make_world(8000, 0)


@pytest.fixture(scope="module")
def predictor(planted: PlantedWorld, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    config = with_settings(preset("paper"), ["mining.policy=random", "classifier.epochs=4"])
    folder: Path = tmp_path_factory.mktemp("explained") / "model"
    return Predictor.fit(planted.dataset, folder, config=config)


def held_out_query(predictor: Predictor, row: int) -> Query:
    data = predictor.model.dataset
    return in_words(
        predictor, data.test.subjects[row], data.test.objects[row], data.test.times[row]
    )


def in_words(predictor: Predictor, subject: int, object_: int, time: int) -> Query:
    data = predictor.model.dataset
    return Query(data.entities[subject], data.entities[object_], data.axis.format(time))


def training_query(predictor: Predictor, row: int) -> Query:
    facts = predictor.model.dataset.train
    return in_words(predictor, facts.subjects[row], facts.objects[row], facts.times[row])


def test_contributions_and_bias_are_the_log_odds_and_the_score(predictor: Predictor) -> None:
    count = len(predictor.model.dataset.predicates)
    names = predictor.model.dataset.predicates
    for row in range(0, 300, 3):
        query = held_out_query(predictor, row)
        (answer,) = predictor.predict([query], top=count)
        scores = predictor.scores(predictor.queries_of([query]))[0]
        logs = {
            n: math.log(p) for n, p in zip(answer.predicates, answer.probabilities, strict=True)
        }
        for predicate in (None, answer.predicates[row % count]):
            found = explain(predictor, query, predicate)
            parts = found.contributions()
            odds = logs[found.predicate] - logs[found.runner_up]
            assert found.log_odds == pytest.approx(odds, abs=1e-5)
            assert found.bias + sum(p.log_odds for p in parts) == pytest.approx(odds, abs=1e-5)
            score = float(scores[names.find(found.predicate)])
            assert found.score == pytest.approx(score, abs=1e-5)
            assert found.score_bias + sum(p.score for p in parts) == pytest.approx(score, abs=1e-5)
            assert [p.log_odds for p in parts] == sorted((p.log_odds for p in parts), reverse=True)


def test_the_runner_up_is_the_most_probable_other(predictor: Predictor) -> None:
    query = held_out_query(predictor, 4)
    (answer,) = predictor.predict([query], top=3)
    first = explain(predictor, query)
    assert (first.predicate, first.runner_up) == answer.predicates[:2]
    assert first.is_first
    third = explain(predictor, query, answer.predicates[2])
    assert (third.predicate, third.runner_up) == (answer.predicates[2], answer.predicates[0])
    assert third.log_odds < 0 < first.log_odds
    assert not third.is_first
    assert [p for p, _ in first.ranked[:3]] == list(answer.predicates)


def test_the_topologies_that_fired_are_the_features(predictor: Predictor) -> None:
    train = training_queries(predictor.model.graph.facts)
    names = predictor.model.dataset.predicates
    for row in range(0, len(train), 400):
        fired, _ = predictor.features(train.take(np.asarray([row]))).row(0)
        wanted = {predictor.model.topologies.sequences[place] for place in fired.tolist()}
        found = explain(predictor, training_query(predictor, row), hidden=row, most=3)
        assert {
            tuple(names.find(name) for name in one.topology) for one in found.contributions()
        } == wanted
        assert len(found.reasons) == min(3, len(wanted))


def walk(facts: Iterable[CitedFact], start: str) -> set[str]:
    reached, facts = {start}, list(facts)
    for _ in facts:
        for fact in facts:
            if {fact.subject, fact.object} & reached:
                reached |= {fact.subject, fact.object}
    return reached


def assert_connects(found: Explanation, reason: Reason) -> None:
    """Walking the cited facts of each side leads to every meeting entity."""
    for side, start in (("subject", found.subject), ("object", found.object)):
        facts = [fact for fact in reason.path if fact.side in (side, "both")]
        assert {met.entity for met in reason.meeting} <= walk(facts, start)


def test_cited_facts_exist_connect_and_are_never_the_hidden_one(predictor: Predictor) -> None:
    data, facts = predictor.model.dataset, predictor.model.graph.facts
    for row in range(0, len(facts), 150):
        found = explain(predictor, training_query(predictor, row), hidden=row)
        for reason in found.reasons:
            assert_connects(found, reason)
            assert set(reason.contribution.topology) >= {f.expanded_by for f in reason.facts}
            for fact in reason.facts:
                assert fact.fact != row
                assert 1 <= fact.step <= reason.steps
                assert fact.predicate == fact.expanded_by
                assert (fact.subject, fact.predicate, fact.object) == (
                    data.entities[facts.subjects[fact.fact]],
                    data.predicates[facts.predicates[fact.fact]],
                    data.entities[facts.objects[fact.fact]],
                )
                assert fact.since == data.axis.format(facts.since[fact.fact])
                assert fact.until == data.axis.format(facts.until[fact.fact])


def links(plain: list[PlainFact], core: set[int]) -> dict[tuple[int, int], int]:
    """Hops between all entities over the facts of a core (Floyd and Warshall)."""
    entities = {e for i in core for e in (plain[i].subject, plain[i].object)} | set(range(6))
    far = len(entities) + 1
    hops = {(a, b): 0 if a == b else far for a in entities for b in entities}
    for i in core:
        if plain[i].subject != plain[i].object:
            hops[plain[i].subject, plain[i].object] = 1
            hops[plain[i].object, plain[i].subject] = 1
    for middle in entities:
        hops |= {(a, b): min(n, hops[a, middle] + hops[middle, b]) for (a, b), n in hops.items()}
    return hops


def on_shortest_ways(
    plain: list[PlainFact], core: set[int], start: int, meeting: set[int]
) -> set[int]:
    hops = links(plain, core)
    return {
        i
        for i in core
        for met in meeting
        for a, b in ((plain[i].subject, plain[i].object), (plain[i].object, plain[i].subject))
        if hops[start, a] + 1 + hops[b, met] == hops[start, met]
    }


def plain_episode(
    plain: list[PlainFact], query: PlainQuery, config: AgentConfig, steps: int
) -> PlainEpisode:
    return PlainEpisode(
        plain,
        query[:3],
        hidden=query[3],
        tknn=config.tknn,
        traversal=config.traversal,
        max_steps=steps,
        predicate_count=PREDICATES,
    )


@settings(max_examples=200)
@given(
    st.lists(plain_facts(), max_size=25),
    settings_of(),
    st.lists(st.integers(0, 2 * PREDICATES - 1), min_size=1, max_size=4),
    st.data(),
)
def test_replaying_agrees_with_the_definitions(
    plain: list[PlainFact], config: AgentConfig, wanted: list[int], data: st.DataObject
) -> None:
    actions = PREDICATES * (2 if config.traversal == "tagged" else 1)
    sequence = [action % actions for action in wanted]
    query = data.draw(questions(plain))
    near = Surroundings(World(graph_of(plain), config), queries_of([query]))
    found = connect(near, sequence)
    episode, steps = plain_episode(plain, query, config, len(sequence)), 0
    while not episode.met() and steps < len(sequence):
        episode.step(sequence[steps])
        steps += 1
    assert (found is not None) == episode.met()
    if found is None:
        return
    one, other = episode.sides
    assert found.steps == steps
    meeting = one.entities() & other.entities()
    assert set(found.meeting) == meeting
    assert len(found.core) == len({core.fact for core in found.core})
    assert {c.fact for c in found.core if c.side != "object"} == one.core
    assert {c.fact for c in found.core if c.side != "subject"} == other.core
    assert one.start is not None
    assert other.start is not None
    assert {c.fact for c in found.core if c.on_path} == on_shortest_ways(
        plain, one.core, one.start, meeting
    ) | on_shortest_ways(plain, other.core, other.start, meeting)
    for core in found.core:
        assert sequence[core.step - 1] == core.action
        assert core.action % PREDICATES == plain[core.fact].predicate


def test_the_shortest_connection_comes_first_and_the_others_stand_by() -> None:
    plain = [
        PlainFact(0, 0, 2, 5, 5),  # 0 and 1 meet in 2 ...
        PlainFact(1, 0, 2, 6, 6),
        PlainFact(0, 0, 3, 1, 1),  # ... and in 3, farther in time
        PlainFact(3, 0, 1, 9, 9),
        PlainFact(4, 0, 1, 5, 5),
        PlainFact(0, 1, 1, 5, 5),  # of another predicate
    ]
    near = Surroundings(World(graph_of(plain), AgentConfig()), queries_of([(0, 1, 5, None)]))
    found = connect(near, [0, 2])
    assert found is not None
    assert (found.steps, found.meeting, found.hops) == (1, (2, 3), ((1, 1), (1, 1)))
    assert [c.fact for c in found.core] == [0, 1, 2, 3, 4]
    assert [c.on_path for c in found.core] == [True] * 4 + [False]
    assert connect(near, [2]) is None
    direct = connect(near, [1])
    assert direct is not None
    assert [(c.fact, c.side) for c in direct.core] == [(5, "both")]
    assert direct.meeting == (0, 1)


def test_the_planted_rule_is_the_first_reason(planted: PlantedWorld, predictor: Predictor) -> None:
    place = [rule.name for rule in planted.rules].index("ally-retaliates")
    names, facts = predictor.model.dataset.predicates, predictor.model.dataset.test
    right = cited = 0
    for row in np.flatnonzero(planted.origins["test"] == place):
        found = explain(predictor, held_out_query(predictor, int(row)), most=1)
        if found.predicate == names[facts.predicates[row]]:
            right += 1
            cited += {fact.predicate for fact in found.reasons[0].path} == RETALIATION
    assert right >= 8
    assert cited >= 0.9 * right


def test_unknown_names_are_answered_from_the_base_rates(predictor: Predictor) -> None:
    for query in (Query("nobody", "no one", "1700-01-01"), Query("nobody", "nobody", "?")):
        found = explain(predictor, query)
        assert found.contributions() == []
        assert found.unseen_subject
        assert found.unseen_object
        assert found.unseen_time == (query.time != "?")
        assert found.log_odds == found.bias > 0
        text = explanation_text(found)
        assert "nobody is not in the training facts" in text
        assert "No topology connects the two: the answer comes from the base rates" in text
    assert "No training fact is dated 1700-01-01" in explanation_text(
        explain(predictor, Query("nobody", "no one", "1700-01-01"))
    )


def test_subject_and_object_may_be_the_same(predictor: Predictor) -> None:
    name = predictor.model.dataset.entities[0]
    found = explain(predictor, Query(name, name, "2019-05-05"))
    assert len(found.contributions()) == len(predictor.model.topologies)
    assert [(r.steps, r.facts, [m.entity for m in r.meeting]) for r in found.reasons] == [
        (0, (), [name])
    ] * 5
    assert "every topology connects them at once" in explanation_text(found)


def test_an_unknown_predicate_is_refused_with_near_names(predictor: Predictor) -> None:
    query = held_out_query(predictor, 0)
    with pytest.raises(ApptekError, match="no predicate 'make statment'; did you mean 'Make sta"):
        explain(predictor, query, "make statment")
    with pytest.raises(ApptekError, match=r"no predicate 'zzzz'$"):
        explain(predictor, query, "zzzz")
    with pytest.raises(TimeFormatError, match="yesterday"):
        explain(predictor, Query(query.subject, query.object, "yesterday"))


def test_json_survives_a_round_trip(predictor: Predictor) -> None:
    found = explain(predictor, held_out_query(predictor, 9)).as_json()
    assert json.loads(json.dumps(found)) == found
    assert found["model"] == {
        "dataset": predictor.model.dataset.name,
        "preset": "paper",
        "protocol": "official",
        "format": 1,
    }
    reason = found["reasons"][0]
    assert {"number", "topology", "sentence", "log_odds", "score", "meeting", "facts"} <= set(
        reason
    )
    assert {"subject", "predicate", "object", "date", "apart", "side"} <= set(reason["facts"][0])
    assert found["ranked"][0] == {
        "predicate": found["predicate"],
        "probability": found["probability"],
    }


def test_the_text_says_the_answer_and_numbered_reasons(predictor: Predictor) -> None:
    for row in range(0, 60, 7):
        query = held_out_query(predictor, row)
        found = explain(predictor, query, most=2)
        text = explanation_text(found, 70)
        assert max(map(len, text.splitlines())) <= 70
        words = " ".join(text.split())
        assert words.startswith(f"{query.subject} | ? | {query.object} | {found.time} answer: ")
        assert f"answer: {found.predicate} ({percent(found.probability)}) runner-up: " in words
        for reason in found.reasons:
            assert f"{reason.number}. {signed(reason.contribution.log_odds)}  expand both" in text
        if found.further:
            total = signed(sum(one.log_odds for one in found.further))
            assert f"{counted(len(found.further), 'further topology')}" in text
            assert f"{total}\n" in text
    asked = explain(predictor, held_out_query(predictor, 0), found.ranked[5][0], most=0)
    text = explanation_text(asked)
    assert "asked about: " in text
    assert f"{counted(len(asked.further), 'topology')} together" in text


def test_the_explanation_needs_nothing_hidden_for_held_out_queries(predictor: Predictor) -> None:
    """A hidden fact changes the answer's reasons; without one they are those of predict."""
    facts = predictor.model.graph.facts
    seen = explain(predictor, training_query(predictor, 17), most=50)
    hidden = explain(predictor, training_query(predictor, 17), most=50, hidden=17)
    cited = [{f.fact for r in found.reasons for f in r.facts} for found in (seen, hidden)]
    assert 17 in cited[0]
    assert 17 not in cited[1]
    assert len(facts) > 17


def test_distances_have_a_sign_and_read_as_words() -> None:
    graph = graph_of(
        [
            PlainFact(0, 0, 1, 3, 3),
            PlainFact(0, 0, 1, 2, 8),
            PlainFact(0, 0, 1, None, 4),
            PlainFact(0, 0, 1, None, None),
        ]
    )
    assert [time_distance(graph, fact, 5) for fact in range(4)] == [-2, 0, -1, None]
    assert [time_distance(graph, fact, 0) for fact in range(4)] == [3, 2, 4, None]
    assert time_distance(graph, 0, UNKNOWN) is None
    day, count = TimeAxis("day"), TimeAxis("integer")
    assert [apart_text(day, apart) for apart in (-2, -1, 0, 1, None)] == [
        "2 days before",
        "1 day before",
        "the same day",
        "1 day after",
        "",
    ]
    assert apart_text(day, 0, lasting=True) == apart_text(count, 0) == "at that time"
    assert apart_text(count, 3) == "3 steps after"
    dates = [("1999", "1999"), ("1999", "2003"), ("1999", "?"), ("?", "2003"), ("?", "?")]
    assert [when_text(*both) for both in dates] == [
        "1999",
        "1999 to 2003",
        "since 1999",
        "until 2003",
        "undated",
    ]


def test_numbers_and_names_as_people_read_them() -> None:
    assert [signed(1.318), signed(-0.4)] == ["+1.32", "\N{MINUS SIGN}0.40"]
    assert [percent(0.412), percent(0.0001), percent(0.0)] == ["41.2 %", "< 0.1 %", "0.0 %"]
    assert [listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"])] == [
        "A",
        "A and B",
        "A, B and C",
    ]
    assert listed(list("ABCDEF")) == "A, B, C, D and 2 more"
    assert [counted(1, "topology"), counted(1200, "topology")] == ["1 topology", "1,200 topologies"]
    assert printable("a\x1b[31m\u202eb\ud800\n") == "a\ufffd[31m\ufffdb\ufffd\ufffd"
    assert printable("Côte d'Ivoire 日本") == "Côte d'Ivoire 日本"


def test_unknown_queries_have_no_connection() -> None:
    unknown = Queries(*(np.asarray([value], np.int32) for value in (-1, -1, 0, -1)))
    near = Surroundings(World(graph_of([PlainFact(0, 0, 1, 0, 0)]), AgentConfig()), unknown)
    assert connect(near, [0]) is None
