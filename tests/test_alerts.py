"""Filters of the watch list, alerts, and what changed since an earlier list."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apptek.errors import DataError
from apptek.features.traits import split_name
from apptek.forecast.forecaster import read_filter
from apptek.forecast.pair_chances import PairChances, seen_pairs
from apptek.forecast.window import Length
from apptek.predictor import Predictor
from apptek.present.tables import write_result
from apptek.present.watch_words import CUT_BEFORE
from apptek.results import WatchList, WatchRow

GROUP = "verbal conflict"


@pytest.fixture(scope="module")
def predictor(forecast_model: Path) -> Predictor:
    return Predictor.load(forecast_model, past_only=True)


@pytest.fixture(scope="module")
def chances(predictor: Predictor) -> PairChances:
    """All pairs with facts before, in windows of 30 days."""
    window = predictor.forecaster.window(None, Length(days=30))
    ids = seen_pairs(predictor.forecaster, window.before().moment)
    return PairChances.of(predictor.forecaster, ids, window)


def pairs_of(listed: WatchList) -> list[tuple[str, str]]:
    return [(row.subject, row.object) for row in listed.rows]


def test_a_group_is_ranked_by_its_own_change(predictor: Predictor, chances: PairChances) -> None:
    """Against the chances of all pairs, none left out."""
    event, every = (
        read_filter(predictor.forecaster, None, None, GROUP),
        np.arange(len(chances.of_any()[0])),
    )
    now, before = chances.of_event(event, every)
    order = np.argsort(-np.abs(now - before), kind="stable")[:10]
    listed = predictor.watch(most=10, days=30, group=GROUP.upper())
    assert listed.event == GROUP
    assert [row.change for row in listed.rows] == pytest.approx((now - before)[order].tolist())
    for row in listed.rows[:3]:
        whole = predictor.forecast(row.subject, row.object, days=30)
        (of_group,) = [part for part in whole.by_group if part.name == GROUP]
        assert row.probability == pytest.approx(of_group.probability)
        assert row.expected == pytest.approx(of_group.expected)
        assert row.change == pytest.approx(row.probability - row.previous)
        groups = {predictor.answerer.labels.group_of(part.predicate) for part in row.predicates}
        assert groups == {GROUP}
    assert predictor.watch(most=10, days=30) != listed


def test_entities_and_countries_are_filters(predictor: Predictor) -> None:
    everything = predictor.watch(most=10_000, days=30)
    first = everything.rows[0].subject
    of_first = predictor.watch(most=10_000, days=30, entity=first)
    assert pairs_of(of_first) == [pair for pair in pairs_of(everything) if first in pair]
    names = predictor.model.dataset.entities
    country = next(part[1] for part in map(split_name, names) if part)

    def is_of(name: str) -> bool:
        return (split_name(name) or ("", name))[1] == country

    of_country = predictor.watch(most=10_000, days=30, country=country.upper())
    assert pairs_of(of_country) == [p for p in pairs_of(everything) if is_of(p[0]) or is_of(p[1])]
    other = everything.rows[1]
    given = predictor.watch([(first, other.object), ("Nobody", "No one")], days=30, entity=[first])
    assert pairs_of(given) == [(first, other.object)]


def test_alerts_are_all_pairs_beyond_a_limit(predictor: Predictor, chances: PairChances) -> None:
    now, before = chances.of_any()
    event = read_filter(predictor.forecaster, None, None, GROUP)
    of_group, _ = chances.of_event(event, np.arange(len(now)))
    values = {
        "chance": 100 * now,
        "rise": 100 * (now - before),
        "fall": 100 * (before - now),
        f"group:{GROUP}": 100 * of_group,
    }
    for what, numbers in values.items():
        limit = round(float(np.sort(numbers)[-4]), 1)
        rule = f"{what} > {limit}"
        listed = predictor.watch(most=5, days=30, alerts=rule)
        assert len(listed.alerts) == int((numbers > limit).sum()) > 0
        assert [alert.value for alert in listed.alerts] == pytest.approx(
            sorted(numbers[numbers > limit].tolist(), reverse=True)
        )
        alerted = [(alert.subject, alert.object) for alert in listed.alerts]
        assert pairs_of(listed)[: len(alerted)] == alerted
        assert all(
            (rule in row.alerts) == (at < len(alerted)) for at, row in enumerate(listed.rows)
        )
        assert all(f"alert above {limit:g}" in alert.sentence for alert in listed.alerts)
        assert f"ALERT {alerted[0][0]} and {alerted[0][1]}: the chance" in repr(listed)
        assert len(listed.rows) >= 5


def test_an_earlier_list_marks_new_dropped_up_and_down(
    predictor: Predictor, tmp_path: Path
) -> None:
    listed = predictor.watch(most=5, days=30)
    rows: list[WatchRow] = [
        replace(listed.rows[1], probability=listed.rows[1].probability + 0.1),
        replace(listed.rows[2], probability=listed.rows[2].probability - 0.1),
        replace(listed.rows[3], subject=listed.rows[3].object, object=listed.rows[3].subject),
        replace(listed.rows[4], subject="Gone"),
    ]
    assert listed.cut
    assert not predictor.watch(most=10_000, days=30).cut
    earlier = replace(listed, rows=tuple(rows), first="2001-01-01", cut=False)
    file = tmp_path / "yesterday.json"
    write_result(file, earlier)
    for since in (earlier, file):
        marked = predictor.watch(most=5, days=30, since=since)
        assert [row.status for row in marked.rows] == ["new", "down", "up", "same", "new"]
        assert marked.rows[1].since == pytest.approx(rows[0].probability)
        assert [pair.subject for pair in marked.dropped] == ["Gone"]
        assert marked.since == "2001-01-01"
        assert "No longer listed: Gone and" in repr(marked)
    shorter = predictor.watch(most=5, days=30, since=predictor.watch(most=2, days=30))
    assert [row.status for row in shorter.rows] == ["same", "same", *["unlisted"] * 3]
    assert CUT_BEFORE in repr(shorter)
    whole = predictor.watch(most=10_000, days=30)
    assert {row.status for row in predictor.watch(most=5, days=30, since=whole).rows} == {"same"}
    short = predictor.watch(most=2, days=30, since=whole)
    assert short.cut
    assert short.dropped == ()  # the pairs below the limit still change
    gone = predictor.watch(most=2, days=30, since=replace(earlier, rows=(*rows, *whole.rows)))
    assert [pair.subject for pair in gone.dropped] == ["Gone"]
    entity = whole.rows[0].subject
    others = predictor.watch(most=1, days=30, entity=entity, since=whole)
    assert {(pair.subject, pair.object) for pair in others.dropped} == {
        pair for pair in pairs_of(whole) if entity not in pair
    }
    with pytest.raises(
        DataError, match=r"that something happens in 30 days, but this one .* of verbal"
    ):
        predictor.watch(days=30, group=GROUP, since=file)
    file.write_text('{"rows": 3}')
    for bad in (file, tmp_path / "nothing.json"):
        with pytest.raises(DataError, match=bad.name):
            predictor.watch(days=30, since=bad)


def test_a_list_may_be_empty(predictor: Predictor, tmp_path: Path) -> None:
    nobody = predictor.watch(
        [("Nobody", "No one")], days=30, entity=predictor.model.dataset.entities[0]
    )
    assert nobody.rows == ()
    assert "No chance changes by one percentage point or more." in repr(nobody)
    for suffix in ("html", "csv", "parquet", "xlsx", "json", "jsonl"):
        write_result(tmp_path / f"watch.{suffix}", nobody, "watch")
    assert (tmp_path / "watch.csv").read_text().startswith('"subject","object"')
