"""The watch list: its rows, the pairs that change most, and the files that it is written to."""

import io
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command_line import apptek
from html_pages import assert_contained, assert_mailable, read_page

from apptek.errors import DataError, UnknownName
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.pairs import forecast_pairs
from apptek.forecast.watch import PAST, watch, watch_list
from apptek.forecast.window import Length, Window
from apptek.models.model_folder import load_model
from apptek.predictor import Predictor
from apptek.present.sentences import clause
from apptek.present.tables import write_result
from apptek.present.watch_words import events_sentence, spark_text
from apptek.present.wording import points
from apptek.results import Forecast, WatchRow


@pytest.fixture(scope="module")
def forecaster(forecast_model: Path) -> Forecaster:
    return Forecaster(load_model(forecast_model))


def some_pairs(forecaster: Forecaster, count: int) -> list[tuple[str, str]]:
    names, facts = forecaster.model.dataset.entities, forecaster.model.graph.facts
    rows = np.linspace(0, len(facts) - 1, count).astype(int)
    return [(names[int(facts.subjects[row])], names[int(facts.objects[row])]) for row in rows]


def what_changed(forecast: Forecast, before: Forecast, *, rises: bool) -> str:
    """The definition: the sentence of the reason whose log-odds went furthest that way."""
    moved: dict[str, float] = {}
    for now, then in zip(forecast.directions, before.directions, strict=True):
        earlier = {reason.family: reason.log_odds for reason in then.reasons}
        for reason in now.reasons:
            step = reason.log_odds - earlier[reason.family]
            moved[reason.sentence] = max(step if rises else -step, moved.get(reason.sentence, -99))
    return max(moved, key=lambda sentence: moved[sentence])


def events_told(forecaster: Forecaster, row: WatchRow, window: Window) -> str:
    """The definition: the events of the pair whose number changed most, the way the chance did."""
    data, facts = forecaster.model.dataset, forecaster.model.graph.facts
    ends = set(forecaster.ids([row.subject, row.object]).tolist())
    counts: dict[tuple[int, int, int], list[int]] = {}
    for number in range(len(facts)):
        fact = tuple(int(column[number]) for column in facts.columns()[:3])
        age = window.moment - data.axis.position(int(facts.times[number]))
        if {fact[0], fact[2]} == ends and 0 < age <= 14:
            counts.setdefault((fact[0], fact[1], fact[2]), [0, 0])[int(age > 7)] += 1
    sign = 1 if row.change >= 0 else -1
    ordered = sorted(counts, key=lambda f: (-sign * (counts[f][0] - counts[f][1]), f[1], f[0]))
    if not ordered or sign * (counts[ordered[0]][0] - counts[ordered[0]][1]) <= 0:
        return ""
    subject, predicate, object_ = ordered[0]
    name, labels = data.predicates[predicate], forecaster.answerer.labels
    ends_of = (data.entities[subject], data.entities[object_])
    did = clause(labels.label(name), labels.phrase(name), *ends_of)
    recent, earlier = counts[ordered[0]]
    return events_sentence(did, (recent, earlier), 7, "day")


def test_a_row_says_what_a_forecast_says_and_what_was_said_before(forecaster: Forecaster) -> None:
    pairs = some_pairs(forecaster, 12)
    window = forecaster.window(None, Length(days=7))
    listed = watch(forecaster, pairs, window)
    for row, forecast, before in zip(
        listed.rows,
        forecast_pairs(forecaster, pairs, window),
        forecast_pairs(forecaster, pairs, window.before()),
        strict=True,
    ):
        assert row.probability == pytest.approx(forecast.probability)
        assert row.previous == pytest.approx(before.probability)
        assert row.change == pytest.approx(row.probability - row.previous)
        assert row.predicates[0].predicate == forecast.predicates[0].predicate
        told = events_told(forecaster, row, window)
        if told or forecast.directions[0].have_met == before.directions[0].have_met:
            assert row.reason == (told or what_changed(forecast, before, rises=row.change >= 0))
        events = forecaster.events.within(window.first - 7 * PAST, window.first - 1)
        ids = sorted(forecaster.ids([row.subject, row.object]).tolist())
        ends = np.sort(np.stack([events.subjects, events.objects]), axis=0)
        assert sum(row.past) == int(((ends[0] == ids[0]) & (ends[1] == ids[1])).sum())


def test_the_pairs_that_change_most(forecaster: Forecaster) -> None:
    window = forecaster.window(None, Length(days=7))
    changes = [abs(row.change) for row in watch_list(forecaster, window, most=10).rows]
    assert changes == sorted(changes, reverse=True)
    assert min(abs(row.change) for row in watch_list(forecaster, window, most=9999).rows) >= 0.01
    others = [abs(row.change) for row in watch(forecaster, some_pairs(forecaster, 20), window).rows]
    assert changes[0] >= max(others) - 1e-12


def test_the_page_can_be_mailed_and_the_sheet_has_formats(
    forecaster: Forecaster, tmp_path: Path
) -> None:
    pairs = [*some_pairs(forecaster, 4), ("<b>Nobody</b>", 'A "quoted", name')]
    listed = watch(forecaster, pairs, forecaster.window(None, Length(days=7)))
    for suffix in ("html", "xlsx"):
        write_result(tmp_path / f"watch.{suffix}", listed, "watch")
    page = (tmp_path / "watch.html").read_text()
    assert_contained(page, read_page(page))
    assert "&lt;b&gt;Nobody&lt;/b&gt;</b> and <b>" in page
    assert "Neither &lt;b&gt;Nobody&lt;/b&gt; nor" in page
    assert_mailable(page)
    with zipfile.ZipFile(tmp_path / "watch.xlsx") as archive:
        styles, content = (
            archive.read(f"xl/{part}.xml").decode() for part in ("styles", "worksheets/sheet1")
        )
    assert 'state="frozen"' in content
    assert content.count("<col ") > 10  # neighbours of the same width share one
    assert 'formatCode="0.0%"' in styles


def test_a_sparkline_rises_with_its_counts() -> None:
    assert spark_text((0, 1, 4, 0)) == "·▂█·"
    assert spark_text((0, 0)) == "··"


@pytest.mark.parametrize(
    ("change", "shown"),
    [(0.0, "0.0"), (-0.0001, "0.0"), (-0.02, "\N{MINUS SIGN}2.0"), (0.0006, "+0.1")],
)
def test_no_change_has_no_sign_and_no_colour(
    forecaster: Forecaster, change: float, shown: str
) -> None:
    assert points(change) == shown
    listed = watch(forecaster, some_pairs(forecaster, 1), forecaster.window(None, Length(steps=1)))
    row = replace(listed.rows[0], change=change)
    page = replace(listed, rows=(row,)).html()
    colour = "#1d2330;font-weight:bold" if shown[0] == "+" else "#5a6372"
    assert f'color:{colour}">{shown}</td>' in page
    assert f">Watch list, {listed.first}</h1>" in page


def test_the_call_makes_the_same_list_and_shows_it(
    forecaster: Forecaster, forecast_model: Path
) -> None:
    predictor = Predictor.load(forecast_model, past_only=True)
    window = forecaster.window(None, Length(days=7))
    pairs = [*some_pairs(forecaster, 2), ("Nobody <at all>", "No one")]
    listed = predictor.watch(pairs, days=7)
    assert listed == watch(forecaster, pairs, window)
    frame = pa.table({"object": [o for _, o in pairs], "subject": [s for s, _ in pairs]})
    assert predictor.watch(frame, days=7) == listed
    chosen = predictor.watch(most=3, days=7)
    assert chosen == watch_list(forecaster, window, most=3)
    page = listed._repr_html_()
    assert listed.unseen == ("Nobody <at all>", "No one")
    assert "Nobody &lt;at all&gt;" in page
    assert "<at all>" not in page
    frame = listed.to_frame("pandas")
    assert frame["probability"].tolist() == [row.probability for row in listed.rows]
    assert frame["unseen"].tolist()[-1] == "Nobody <at all>; No one"
    assert "`" not in listed.html()


def test_what_is_no_pair_is_said(forecast_model: Path) -> None:
    predictor = Predictor.load(forecast_model, past_only=True)
    with pytest.raises(DataError, match="no pairs to watch"):
        predictor.watch([])
    with pytest.raises(DataError, match="found the pair 'Iran', expected the names of two"):
        predictor.watch(("Iran", "China"))
    for name in ("?", "*", ""):
        with pytest.raises(UnknownName, match=rf"^pair 2: '{re.escape(name)}' is not a name\.$"):
            predictor.watch([("Iran", "China"), ("Iran", name)])


def test_pairs_come_from_standard_input(
    forecaster: Forecaster, forecast_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [*some_pairs(forecaster, 3), ("Nobody", "No one")]
    bad = "subject,object\n" + "".join(f"{a},{b}\n" for a, b in pairs) + "Nobody\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bad.encode())))
    piped = apptek("watch", str(forecast_model), "-", "--skip-bad", "--days", "7")
    assert "skipped: stdin.csv:6" in piped.stderr
    assert "(unknown)" in piped.stdout
