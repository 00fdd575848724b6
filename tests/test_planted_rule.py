"""The planted world: its two-hop rule must be mined, and must be the first reason given."""

from pathlib import Path

import numpy as np
import pytest

from apptek.paper.features import topologies_of
from apptek.predictor import Predictor, Query
from apptek.synthetic.rules import FOLLOWING
from apptek.synthetic.world import make_world

RULE = "ally-retaliates"
HOPS = ("Mobilize or increase armed forces", "Provide military aid")


@pytest.mark.slow
def test_the_planted_two_hop_rule_is_mined_and_cited_first(tmp_path: Path) -> None:
    world = make_world(30_000, 0)
    data = world.dataset
    predictor = Predictor.fit(data, model="paper", folder=tmp_path / "model")
    hops = [data.predicates.find(name) for name in HOPS]
    part = topologies_of(predictor.model)
    assert part is not None
    mined = part.mined.sequences()
    assert tuple(hops) in mined or tuple(reversed(hops)) in mined

    made_by = [rule.name for rule in world.rules].index(RULE)
    rows = np.flatnonzero(world.origins["test"] == made_by).tolist()
    cited = asked = 0
    for row in rows:
        query = Query(
            data.entities[int(data.test.subjects[row])],
            data.entities[int(data.test.objects[row])],
            data.axis.format(int(data.test.times[row])),
        )
        found = predictor.explain(query, most=1)
        if found.predicate != data.predicates[int(data.test.predicates[row])]:
            continue
        asked += 1
        cited += set(HOPS) <= set(found.reasons[0].topology)
    assert asked >= len(rows) / 2
    assert cited / asked >= 0.9


@pytest.mark.slow
def test_the_default_preset_names_the_planted_rule_first() -> None:
    """Of the answers that a rule of one body caused, nine in ten name that body first."""
    world = make_world(8000, 0)
    data, facts = world.dataset, world.dataset.test
    predictor = Predictor.fit(data)
    numbers = {rule.name: number for number, rule in enumerate(world.rules)}
    asked = named = 0
    for rule in FOLLOWING:
        assert rule.head is not None
        body = rule.body[0]
        forth = (body.subject, body.object) == (rule.head.subject, rule.head.object)
        for row in np.flatnonzero(world.origins["test"] == numbers[rule.name]).tolist():
            subject, object_ = int(facts.subjects[row]), int(facts.objects[row])
            time = data.axis.format(int(facts.times[row]))
            query = Query(data.entities[subject], data.entities[object_], time)
            found = predictor.explain(query, most=1)
            if found.predicate != rule.head.predicate:
                continue
            asked += 1
            first = found.reasons[0]
            planted = ("pair" if forth else "reversed", (body.predicate,))
            is_told = first.sentence in found.sentence
            named += is_told and (first.family, first.topology) == planted
    assert asked >= 80
    assert named / asked >= 0.9
