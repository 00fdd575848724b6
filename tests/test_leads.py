"""Forecasts that begin after the last observed time: the lead, what is observed, skill by group."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command_line import answered, apptek, succeeds
from fact_files import write
from forecast_oracles import plain_pair_features
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from reference import PlainFact

from apptek.arrays import Doubles
from apptek.config import preset
from apptek.errors import DataError
from apptek.evaluation.calibration import yes_no_figures
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.forecast.backtest import backtest, group_skill, groups_of, judged, recent_span
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.window import Length, Window
from apptek.models.manifest import json_bytes
from apptek.models.model_folder import load_model
from apptek.models.occurrence.fitting import Period
from apptek.models.occurrence.horizon import (
    BUSY,
    PAIR_EVER,
    Horizon,
    LeadEffect,
    Leads,
    Regression,
    is_busy,
)
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.occurrence.pair_counts import NAMES, Events, Meetings, Pairs
from apptek.models.occurrence.snapshots import draw_never_seen
from apptek.predictor import Predictor
from apptek.present.forecast_words import ACTIVE, no_skill_lines
from apptek.research.result import read_result
from apptek.results import GroupSkill, to_dict
from apptek.seeding import generator
from apptek.setting_rules import with_settings

DAYS, ENTITIES = 300, 24
LAST, AFTER = "2014-10-27", "2014-10-28"  # the last of these days, and the next


def daily_rates() -> Doubles:
    """On which share of the days each entity acts on each other: e0 on e1 most often."""
    rates: Doubles = np.random.default_rng(1).random((ENTITIES, ENTITIES)) ** 8 / 3
    rates[0, 1] = 0.35
    np.fill_diagonal(rates, 0.0)
    return rates


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a world with constant rates."""
    rng, rates = np.random.default_rng(0), daily_rates()
    days = TimeAxis("day")
    start = days.parse("2014-01-01")
    facts = [
        (f"e{s}", "p1" if s < o else "p2", f"e{o}", days.format(start + day))
        for day in range(DAYS)
        for s, o in np.argwhere(rng.random(rates.shape) < rates).tolist()
    ]
    facts.append(("e0", "p1", "e1", LAST))
    folder = tmp_path_factory.mktemp("steady") / "model"
    config = with_settings(preset("default"), ["classifier.epochs=1", "features.past_only=true"])
    Predictor.fit(facts, model="default", config=config, folder=folder)
    return folder


@pytest.fixture(scope="module")
def predictor(steady: Path) -> Predictor:
    return Predictor.load(steady)


@pytest.fixture(scope="module")
def forecaster(forecast_model: Path) -> Forecaster:
    return Forecaster(load_model(forecast_model))


@pytest.mark.parametrize("start", [AFTER, "2014-11-05", "2014-12-01", "2015-01-14"])
def test_pairs_stay_as_probable_after_days_without_data(predictor: Predictor, start: str) -> None:
    """A pair's true chance in a week is 1 - (1 - rate)^7, whenever the week begins."""
    rates, forecaster = daily_rates(), predictor.forecaster
    subjects, objects = np.nonzero(rates)
    ids = [forecaster.ids([f"e{e}" for e in ends.tolist()]) for ends in (subjects, objects)]
    window = forecaster.window(start, Length(days=7))
    chances = forecaster.pair_forecasts(ids[0], ids[1], window).probabilities
    truth = 1 - (1 - rates[subjects, objects]) ** 7
    assert chances.mean() == pytest.approx(truth.mean(), abs=0.02)
    busy = truth > 0.4
    assert chances[busy].mean() == pytest.approx(truth[busy].mean(), abs=0.06)
    if window.lead > 30:  # if these days were quiet, the chances would be far lower
        quiet = Window(window.first, window.last)
        assert (
            forecaster.pair_forecasts(ids[0], ids[1], quiet).probabilities.mean()
            < 0.75 * truth.mean()
        )
    days, made = TimeAxis("day"), predictor.forecast("e0", "e1", start, days=7)
    assert made.lead == days.parse(start) - days.parse(AFTER)
    assert made.observed_until == LAST
    assert any(note.kind == "lead" for note in made.notes) == (made.lead > 0)


def test_a_quiet_time_that_was_observed_counts_and_an_unobserved_one_does_not(
    predictor: Predictor,
) -> None:
    observed, report = predictor.update(observed_until="2014-12-31")
    assert (report.added, report.known) == (0, 0)
    assert predictor.update([])[1] == report
    unknown, quiet = (
        each.forecast("e0", "e1", "2015-01-01", days=7) for each in (predictor, observed)
    )
    assert (unknown.lead, unknown.observed_until) == (65, LAST)
    assert (quiet.lead, quiet.observed_until) == (0, "2014-12-31")
    assert quiet.probability < unknown.probability - 0.2
    assert observed.forecast("e0", "e1", days=7).first == "2015-01-01"
    # A window inside the data is forecast from the facts before it, at lead 0.
    past = observed.forecast("e0", "e1", "2014-06-01", days=7)
    assert (past.lead, past.observed_until) == (0, "2014-05-31")
    assert past == predictor.forecast("e0", "e1", "2014-06-01", days=7)


def test_facts_within_the_lead_are_not_used(predictor: Predictor) -> None:
    """The same forecast, made from the model before and after a month of further facts."""
    days = TimeAxis("day")
    first = days.parse(AFTER)
    more = [("e2", "p1", "e3", days.format(first + day)) for day in range(30)]
    updated, report = predictor.update(more)
    assert report.added == 30
    window = Window(first + 30, first + 36, lead=30)
    ids = predictor.forecaster.ids(["e2"]), predictor.forecaster.ids(["e3"])
    before, after = (p.forecaster.pair_forecasts(*ids, window) for p in (predictor, updated))
    assert np.array_equal(before.probabilities, after.probabilities)
    at_once = updated.forecast("e2", "e3", days.format(first + 30), days=7)
    assert at_once.lead == 0
    assert at_once.directions[0].probability > before.probabilities[0] + 0.1


def test_new_facts_move_the_observed_time_and_it_is_never_before_them(predictor: Predictor) -> None:
    quiet, _ = predictor.update(pa.table({"subject": []}), observed_until="2014-11-02")
    back, _ = quiet.update(observed_until="2014-11-01")
    assert back.forecaster.observed == quiet.forecaster.observed - 1
    same, _ = quiet.update(observed_until="2014-11-02")
    assert same.forecaster.observed == quiet.forecaster.observed
    later, _ = quiet.update([("e0", "p1", "e1", "2014-11-09")])
    earlier, _ = quiet.update([("e0", "p1", "e1", "2014-10-31")])
    assert [p.forecaster.observed - predictor.forecaster.observed for p in (later, earlier)] == [
        13,
        6,
    ]
    for time, message in (
        ("2014-08-01", LAST),
        ("2914-08-01", "time without facts"),
        ("?", "expected"),
    ):
        with pytest.raises(DataError, match=message):
            predictor.update(observed_until=time)


def test_a_mistyped_date_does_not_move_the_observed_time_and_is_named(
    predictor: Predictor, tmp_path: Path
) -> None:
    typo = [("e0", "p1", "e1", "2015-12-31")]
    wrong, _ = predictor.update(typo)
    wrong.save(tmp_path / "wrong")
    loaded = Predictor.load(tmp_path / "wrong")
    assert loaded.model.observed_until is None
    assert loaded.model.isolated_times == ["2015-12-31"]
    assert predictor.model.isolated_times == []
    expected = predictor.forecast("e0", "e1", days=7)
    right, _ = loaded.update(retract=typo)
    aside, _ = loaded.update(observed_until=LAST)
    for each in (loaded, right, aside):
        made = each.forecast("e0", "e1", days=7)
        assert (made.first, made.observed_until) == (AFTER, LAST)
        assert made.probability == pytest.approx(expected.probability)
        notes = [note.text for note in made.notes if note.kind == "model"]
        assert any("1 later fact (2015-12-31)" in note for note in notes) == (each is loaded)
    # A stated end neither follows such a fact; further facts near it do move both.
    for each in (loaded, aside):
        assert each.update(typo)[0].forecaster.observed == predictor.forecaster.observed
        more, _ = each.update([("e0", "p1", "e1", AFTER)])
        assert more.forecaster.observed == predictor.forecaster.observed + 1
    stated, _ = loaded.update(observed_until="2015-12-31")
    assert stated.forecast("e0", "e1", days=7).first == "2016-01-01"


def test_a_fit_sets_a_mistyped_date_aside(predictor: Predictor, tmp_path: Path) -> None:
    data, names = predictor.model.dataset, predictor.model.dataset.entities
    facts = data.all_facts()
    rows = [
        f"{names[int(s)]},p,{names[int(o)]},{data.axis.format(int(t))}"
        for s, o, t in zip(facts.subjects, facts.objects, facts.times, strict=True)
    ]
    file, out = tmp_path / "facts.csv", tmp_path / "model"
    text = "\n".join(["subject,predicate,object,time", *rows, "e0,p,e1,2041-01-01"])
    file.write_text(text, encoding="utf-8")
    note = f"The data is assumed to end at {LAST}: 1 later fact (2041-01-01)"
    done = succeeds("fit", str(file), "--out", str(out), "--set", "classifier.epochs=1")
    assert note in " ".join(done.stderr.split())
    assert note in answered("data", "stats", str(file))["notes"][0]
    fitted = Predictor.load(out)
    answers = fitted.predict([("e0", "e1", time) for time in (LAST, "2014-10-29", "2030-01-01")])
    assert [answer.view for answer in answers] == ["all_facts", "past_only", "past_only"]
    made = fitted.forecast("e0", "e1", days=7)
    assert made.first == AFTER
    assert made.directions[0].probability == pytest.approx(1 - 0.65**7, abs=0.1)


def test_a_fit_learns_from_the_time_that_was_observed() -> None:
    facts = [
        (f"e{n % 3}", f"p{n % 2}", f"e{(n + 1) % 3}", f"2014-01-{1 + n % 28}") for n in range(84)
    ]
    config = with_settings(preset("default"), ["classifier.epochs=1"])
    model = Predictor.fit(facts, config=config, observed_until="2014-02-20").model
    assert model.dataset.axis.format(model.last_observed or 0) == "2014-02-20"
    events = _events([(day % 2, 1 - day % 2, day) for day in range(9)])
    assert (Period.of(events).last, Period.of(events, 20).last) == (8, 20)


def test_watched_pairs_are_compared_with_the_forecast_of_the_same_lead(
    predictor: Predictor,
) -> None:
    listed = predictor.watch([("e0", "e1")], start="2014-11-30", days=7)
    assert (listed.lead, listed.observed_until) == (33, LAST)
    assert abs(listed.rows[0].change) < 0.1
    assert sum(listed.rows[0].past[-4:]) > 0


def test_the_effect_of_a_lead_is_interpolated_and_holds_beyond_the_longest() -> None:
    leads = ((7, LeadEffect(-0.6, 0.8, 0.2), LeadEffect(0.1, 1.0, 0.0), LeadEffect(0.3)),)
    horizon_of = _flat_model(leads).horizons[0].effects_of
    assert horizon_of(0) == (LeadEffect(), LeadEffect(), LeadEffect())
    half = horizon_of(round(math.sqrt(8)) - 1)[0]  # log(1 + 2) / log(1 + 7) = 0.53
    share = math.log(3) / math.log(8)
    assert half == pytest.approx((-0.6 * share, 1 - 0.2 * share, 0.2 * share))
    assert horizon_of(7) == horizon_of(300) == leads[0][1:]


def _flat_model(leads: Leads) -> OccurrenceModel:
    weights = np.linspace(-0.2, 0.3, len(NAMES))
    flat = Regression(weights, -1.0, np.zeros(len(NAMES)))
    busy = Regression(weights[::-1], -2.0, np.zeros(len(NAMES)))
    horizon = Horizon(7, flat, flat, (0.0, 1.0, 0.0), leads=leads, busy=busy)
    return OccurrenceModel(clock=Clock(1.0, 2.0, 4.0, 8.0), horizons=(horizon,), fitted_until=0)


def test_contributions_with_a_lead_add_up_and_the_folder_keeps_the_leads() -> None:
    leads = ((7, LeadEffect(-0.6, 0.8, 0.2), LeadEffect(0.1, 0.9, 0.0), LeadEffect(0.3)),)
    model = _flat_model(leads)
    rng = np.random.default_rng(0)
    features, met = rng.random((9, len(NAMES))), np.arange(9) % 2 > 0
    features[:3, PAIR_EVER] = np.log1p([BUSY, BUSY, BUSY - 1])  # a stranger, a busy pair, and none
    assert is_busy(features[:3]).tolist() == [True, True, False]
    chances = model.occurrence(features, met, 7, 3).probabilities
    added = model.contributions(features, met, 7, 3)
    np.testing.assert_allclose(added.sum(axis=1), np.log(chances / (1 - chances)), atol=1e-9)
    assert not np.allclose(chances, model.occurrence(features, met, 7).probabilities)
    stored = OccurrenceModel.from_json(json.loads(json_bytes(model.to_json())))
    assert np.array_equal(stored.occurrence(features, met, 7, 3).probabilities, chances)
    assert stored.horizons[0].leads == leads
    assert stored.leads == [0, 7]


@pytest.mark.parametrize("lead", [0, 20])
def test_a_backtest_agrees_with_plain_python(forecaster: Forecaster, lead: int) -> None:
    every = 30
    outcome, table = backtest(forecaster, every, lead=lead)
    assert outcome.lead == lead
    at_once, _ = backtest(forecaster, every)
    assert [w.first for w in outcome.windows] == [w.first for w in at_once.windows]
    data, occurrence = forecaster.model.dataset, forecaster.occurrence
    axis, first = data.axis, outcome.windows[1].first
    begins = axis.parse(first)
    moment = begins - lead
    facts = [
        PlainFact(int(s), 0, int(o), int(t), int(t))
        for s, o, t in zip(
            forecaster.events.subjects, forecaster.events.objects, forecaster.events.times,
            strict=True,
        )
    ]  # fmt: skip
    clock = occurrence.clock
    scales = [clock.brief, clock.short, clock.middle, clock.long]
    rows = [row for row in table.to_pylist() if row["first"] == first]
    known = {(f.subject, f.object) for f in facts if f.since is not None and f.since < moment}
    met = known | {(o, s) for s, o in known}
    assert len(rows) == len(met)
    inside = {
        (f.subject, f.object)
        for f in facts
        if f.since is not None and begins <= f.since < begins + every
    }
    ids = (forecaster.ids([row[side] for row in rows]).tolist() for side in ("subject", "object"))
    pairs = list(zip(*ids, strict=True))
    assert [row["happened"] for row in rows] == [pair in inside for pair in pairs]
    for row, pair in [*zip(rows, pairs, strict=True)][::150]:
        features = np.asarray([plain_pair_features(pair[0], pair[1], moment, facts, scales)])
        (chance,) = occurrence.occurrence(
            features, np.ones(1, np.bool_), every, lead
        ).probabilities.tolist()
        assert row["probability"] == pytest.approx(chance)


triples = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 29)), min_size=1, max_size=25
)


def _events(facts: list[tuple[int, int, int]], entities: int = 4) -> Events:
    ordered = sorted(facts, key=lambda fact: fact[2])
    s, o, t = (np.asarray([fact[i] for fact in ordered]) for i in range(3))
    return Events(s.astype(np.int64), o.astype(np.int64), t.astype(np.int32), entities + 1)


@given(
    facts=triples,
    moment=st.integers(1, 25),
    lead=st.integers(0, 4),
    window=st.integers(1, 5),
    recent=st.integers(1, 10),
)
def test_onsets_and_continuations_agree_with_their_definition(
    facts: list[tuple[int, int, int]], moment: int, lead: int, window: int, recent: int
) -> None:
    earlier = [fact for fact in facts if fact[2] < moment]
    if not earlier:
        return
    events = _events(facts)
    past = events.before(moment)
    pairs = Pairs.at(Meetings(events).before(moment), moment, events.width)
    groups = groups_of(past, pairs, recent)
    begins = moment + lead
    ends = list(zip(pairs.subjects.tolist(), pairs.objects.tolist(), strict=True))
    happened = np.asarray(
        [any((s, o) == e and begins <= t < begins + window for s, o, t in facts) for e in ends]
    )
    chances = np.linspace(0.05, 0.9, len(ends))
    rows = judged(past, pairs, window, chances, (happened, np.ones(len(ends))), recent)
    assert groups["active"].sum() == min(ACTIVE, len(ends))
    for row, pair in enumerate(ends):
        times = [t for s, o, t in earlier if (s, o) == pair]
        is_recent = any(t >= moment - recent for t in times)
        assert groups["continuations"][row] == is_recent
        assert groups["onsets"][row] == (bool(times) and not is_recent)
        last_window = any(moment - window <= t < moment for t in times)
        assert rows.no_change[row] == (last_window and is_recent)
    assert not rows.no_change[groups["onsets"]].any()
    for mask in groups.values():
        skill = group_skill(rows.take(mask))
        assert (skill is None) == (not mask.any())
        if skill is None:
            continue
        brier = float(np.mean((chances[mask] - happened[mask]) ** 2))
        base = float(np.mean((happened[mask].mean() - happened[mask]) ** 2))
        assert skill.brier == pytest.approx(brier)
        assert skill.skill["base_rate"] == (pytest.approx(1 - brier / base) if base else None)


def test_never_seen_pairs_stand_for_all_of_them() -> None:
    rng = np.random.default_rng(1)
    facts = [(int(s), int(o), int(t)) for s, o, t in rng.integers(0, [60, 60, 40], (900, 3))]
    events = _events(facts, 60)
    drawn = draw_never_seen(events, 20, 25, 30, rng=generator(0, "test"))
    known = {e for s, o, t in facts if t < 20 for e in (s, o)}
    seen = {(s, o) for s, o, t in facts if t < 20 and s != o}
    total = len(known) * (len(known) - 1) - len(seen)
    assert drawn.weights.sum() == pytest.approx(total, rel=0.03)
    pairs = set(zip(drawn.pairs.subjects.tolist(), drawn.pairs.objects.tolist(), strict=True))
    assert not pairs & seen
    new = {(s, o) for s, o, t in facts if 25 <= t <= 30 and s != o and {s, o} <= known} - seen
    assert drawn.hits.sum() == len(new)
    assert new <= pairs


def test_missing_skill_is_said() -> None:
    figures = {"share": 0.1, "forecast": 0.1, "log_loss": 0.3, "brier": 0.09}
    skill = {"base_rate": 0.01, "no_change": -0.02, "own_rate": None}
    group = GroupSkill(forecasts=9, pairs=9, calibration_error=0.0, skill=skill, **figures)
    assert no_skill_lines({"onsets": group}) == ["no skill for onsets, compared with no change"]
    assert recent_span("day", Clock(1.0, 2.0, 3.0, 50.0)) == 90
    assert recent_span("month", Clock(1.0, 2.0, 3.0, 50.0)) == 50


@pytest.mark.parametrize(
    ("year", "reason"),
    [
        ("{}", "recurrence cannot be learned: 0 of 150 facts"),
        ("", "0 facts with a date, at least 100"),
    ],
)
def test_a_fit_says_why_it_makes_no_forecasts(tmp_path: Path, year: str, reason: str) -> None:
    rows = [f"s{n},p{n % 3},o{n},{year.format(2000 + n % 12)}" for n in range(150)]
    file = write(tmp_path / "once.csv", "\n".join(["subject,predicate,object,time", *rows]))
    words = ("--out", str(tmp_path / "model"), "--past-only", "--set", "classifier.epochs=1")
    fitted = succeeds("fit", str(file), *words)
    asked = apptek("forecast", str(tmp_path / "model"), "s1", "o1")
    assert asked.returncode == 1
    assert reason in " ".join(fitted.stderr.split())
    assert reason in asked.stderr


# Backtests


def test_windows_after_the_fit_count_and_those_within_it_do_not(forecaster: Forecaster) -> None:
    axis, until = forecaster.model.dataset.axis, forecaster.occurrence.fitted_until
    outcome, table = backtest(forecaster, 30, axis.format(until - 59))
    assert [window.in_training for window in outcome.windows][:3] == [True, True, False]
    rows = table.to_pydict()
    tested = ~np.asarray(rows["in_training"])
    chances, happened = (np.asarray(rows[name])[tested] for name in ("probability", "happened"))
    assert outcome.figures == yes_no_figures(chances, happened)
    assert sum(part.forecasts for part in outcome.reliability) == len(chances)
    usual, _ = backtest(forecaster, 30)
    assert not any(window.in_training for window in usual.windows)


def test_facts_of_the_last_window_change_no_forecast(forecaster: Forecaster) -> None:
    """Planted in the last window: they happen, and nobody knew."""
    outcome, before = backtest(forecaster, 30)
    last, data = outcome.windows[-1], forecaster.model.dataset
    updated, _ = Predictor(forecaster.model).update(
        [(data.entities[n], data.predicates[n % 3], data.entities[39 - n], last.first)
         for n in range(40)]
    )  # fmt: skip
    _, after = backtest(updated.forecaster, 30, outcome.windows[0].first, last.last)
    one, other = (part.to_pydict() for part in (before, after))
    for name in ("subject", "object", "probability", "expected", "own_rate", "last_30"):
        assert one[name] == other[name][: len(one[name])], name
    assert one["happened"] != other["happened"][: len(one["happened"])]


def test_the_command_writes_forecasts_and_a_result(forecast_model: Path, tmp_path: Path) -> None:
    out, result = tmp_path / "out.parquet", tmp_path / "result.json"
    words = ("evaluate", str(forecast_model), "--forecasts", "--every", "30", "--lead", "14")
    done = succeeds(*words, "--out", str(out), "--result", str(result))
    assert "14 days ahead" in done.stdout
    assert "its rate in the last 30 days" in " ".join(done.stdout.split())
    forecasts = parquet.read_table(out)
    outcome, expected = backtest(Forecaster(load_model(forecast_model)), 30, lead=14)
    assert forecasts.num_rows == expected.num_rows == sum(each.pairs for each in outcome.windows)
    recorded = read_result(result)
    assert recorded.model == "backtest"
    assert recorded.metrics["forecasts"] == to_dict(outcome.figures)
    assert sorted(recorded.groups) == ["active", "all", "continuations", "never_seen", "onsets"]
    assert recorded.groups["never_seen"]["pairs"] > 10 * recorded.groups["all"]["pairs"]
