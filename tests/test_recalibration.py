"""Calibration that follows the newest facts, after updates and in rolling evaluations."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import apptek, succeeds
from fact_files import write

from apptek.config import View
from apptek.evaluation.calibration import softmax
from apptek.evaluation.prediction_sets import USUAL_COVERAGE, Strata
from apptek.evaluation.scorer import ViewScorer, evaluate_split
from apptek.facts.queries import held_out_queries
from apptek.models.answerer import WorkingView
from apptek.models.model import FittedView, with_earlier_facts
from apptek.models.recalibration import LEAST_FACTS, RollingView, recent_calibration
from apptek.predictor import Predictor

Rows = list[tuple[str, str, str, str]]
NAMES = ("praises", "blames", "visits", "sues", "meets", "thanks")
TURN = 48  # the day from which most facts are no longer habits


def habits(days: range, noise: float, seed: int = 0) -> Rows:
    """Sixty facts a day; a subject keeps to its habit, but for a share of noise."""
    rng = random.Random(f"{seed} {days.start}")
    rows = []
    for day in days:
        for _ in range(60):
            subject = rng.randrange(40)
            habit = NAMES[subject * 7 % 6]
            predicate = rng.choice(NAMES) if rng.random() < noise else habit
            rows.append((f"s{subject}", predicate, f"o{rng.randrange(30)}", str(day)))
    return rows


def text_of(rows: Rows) -> str:
    return "\n".join(map("\t".join, rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was fitted on habits, with a test split in which they fade."""
    path = tmp_path_factory.mktemp("habits")
    write(path / "train.txt", text_of(habits(range(30), 0.2)))
    write(path / "valid.txt", text_of(habits(range(30, TURN), 0.2)))
    write(path / "test.txt", text_of(habits(range(TURN, 90), 0.7)))
    succeeds("fit", str(path), "--past-only", "--not-final", "--out", str(path / "model"))
    return path


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return Predictor.load(folder / "model")


def rolling_view(predictor: Predictor) -> WorkingView:
    return WorkingView.of(with_earlier_facts(predictor.model), "past_only")


def test_info_says_that_a_refit_is_due_and_the_command_has_calibrated(
    folder: Path, tmp_path: Path, predictor: Predictor
) -> None:
    later = write(tmp_path / "later.txt", text_of(habits(range(TURN, 70), 0.7)))
    changed, model = tmp_path / "changed", folder / "model"
    succeeds("update", str(model), str(later), "--out", str(changed))
    found = json.loads(apptek("info", str(changed), "--json").stdout)
    recent = found["recent_calibration"]
    assert recent["refit_due"]
    assert recent["ece"] > 0.05
    assert found["refit"].startswith("due: the model's calibration error is")
    assert f"{recent['ece']:.3f}" in found["refit"]
    assert f"{recent['ece']:.3f}" in " ".join(apptek("info", str(changed)).stdout.split())
    updated, _ = predictor.update(later)
    written = Predictor.load(changed).model.views["past_only"].classifier.calibration
    assert written == updated.model.views["past_only"].classifier.calibration
    assert written != predictor.model.views["past_only"].classifier.calibration


def test_without_a_change_no_refit_is_due(predictor: Predictor) -> None:
    same, _ = predictor.update(habits(range(TURN, 75), 0.2))
    recent = recent_calibration(same.model)
    assert recent is not None
    assert recent["facts"] == len(set(habits(range(TURN, 75), 0.2)))
    assert not recent["refit_due"]
    few, _ = predictor.update(habits(range(TURN, TURN + 10), 0.7))
    assert recent_calibration(few.model) is None
    assert few.model.views["past_only"].classifier.calibration == (
        predictor.model.views["past_only"].classifier.calibration
    )


def test_an_update_calibrates_on_the_newest_facts(predictor: Predictor) -> None:
    changed, _ = predictor.update(habits(range(TURN, 70), 0.7))
    then = [(s, o, t) for s, _, o, t in habits(range(70, 72), 0.7)]
    before, after = (
        np.mean([answer.probabilities[0] for answer in each.predict(then, top=1)])
        for each in (predictor, changed)
    )
    right = 0.3 + 0.7 / 6  # the share of facts that are habits from the turn on
    assert before > right + 0.2
    assert after == pytest.approx(right, abs=0.08)


def test_a_rolling_evaluation_follows_the_data(predictor: Predictor) -> None:
    data, view = predictor.model.dataset, rolling_view(predictor)
    fixed = evaluate_split(ViewScorer(view.scores, view.probabilities), data, "test")
    rolled = predictor.evaluate("test", rolling=True)
    assert np.array_equal(rolled.ranks, fixed.ranks)
    assert fixed.metrics.ece is not None
    assert rolled.metrics.ece is not None
    assert rolled.metrics.ece < 0.6 * fixed.metrics.ece
    sets = view.fitted.sets
    assert sets is not None
    queries = held_out_queries(data.test)
    shares, strata = view.probabilities(view.scores(queries)), Strata(data.train, 70).of(queries)
    of_truth = shares[np.arange(len(queries)), data.test.predicates]
    sizes = sets.sizes(shares, strata, USUAL_COVERAGE)
    covered = np.mean((shares > of_truth[:, None]).sum(axis=1) < sizes)
    assert rolled.metrics.coverage is not None
    assert covered < 0.85 < rolled.metrics.coverage


def test_a_calibration_knows_only_facts_before_it(predictor: Predictor) -> None:
    model, axis = predictor.model, predictor.model.dataset.axis
    positions = axis.positions(model.dataset.test.times)
    turn = int(np.median(positions))
    test = model.dataset.test
    others = np.where(positions >= turn, (test.predicates + 1) % 6, test.predicates)
    changed = replace(test, predicates=others.astype(np.int32))
    other = replace(model, dataset=replace(model.dataset, test=changed))
    views = [
        RollingView.of(rolling_view(Predictor(each)), each.dataset, "test")
        for each in (model, other)
    ]
    assert views[0].starts.tolist() == views[1].starts.tolist()
    earlier = int(np.searchsorted(views[0].starts, turn, side="right"))
    assert 2 < earlier < len(views[0].starts)
    shapes = [[each.classifier.calibration for each in view.fitted] for view in views]
    assert shapes[0][: earlier + 1] == shapes[1][: earlier + 1]
    assert shapes[0][-1] != shapes[1][-1]
    assert len(model.dataset.valid) >= LEAST_FACTS


def test_before_enough_facts_the_calibration_is_that_of_the_fit(predictor: Predictor) -> None:
    view = rolling_view(predictor)
    rolled = RollingView.of(view, predictor.model.dataset, "valid")
    queries = held_out_queries(predictor.model.dataset.valid.first(50))
    assert softmax(rolled.scores(queries)) == pytest.approx(
        view.probabilities(view.scores(queries)), abs=1e-6
    )


def test_sets_of_times_long_after_the_last_fact_are_calibrated_apart(predictor: Predictor) -> None:
    fitted = predictor.model.views["past_only"]
    assert fitted.later_sets is not None
    assert fitted.sets is not None
    same = [np.full(300, share, np.float32) for share in (0.001, 0.3, 0.3)]
    views: dict[View, FittedView] = {
        "past_only": replace(fitted, later_sets=type(fitted.sets)(*same))
    }
    answers = Predictor(replace(predictor.model, views=views))
    soon, late = (("s1", "o1", str(day)) for day in (30, 55))
    assert len(answers.predict(late, coverage=0.9)[0].predicates) == 6
    usual = predictor.predict(soon, coverage=0.9)[0].predicates
    assert answers.predict(soon, coverage=0.9)[0].predicates == usual
    assert len(usual) < 6
