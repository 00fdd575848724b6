"""The planted world: its two-hop rule must be mined, and must be the first reason given."""

from pathlib import Path

import numpy as np
import pytest
from plain_queries import query_about

from apptek.paper.features import topologies_of
from apptek.predictor import Predictor
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
        query = query_about(data, data.test, row)
        found = predictor.explain(query, most=1)
        if found.predicate != data.predicates[int(data.test.predicates[row])]:
            continue
        asked += 1
        cited += set(HOPS) <= set(found.reasons[0].topology)
    assert asked >= len(rows) / 2
    assert cited / asked >= 0.9
