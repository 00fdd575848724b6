import shutil
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import apptek, succeeds
from fitted_models import SharedModel
from model_folders import files_of, rewrite_manifest
from plain_queries import query_about

from apptek import extras
from apptek.arrays import Doubles
from apptek.config import Config, preset
from apptek.errors import ModelError
from apptek.evaluation.calibration import log_softmax
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import held_out_queries
from apptek.features.traits import Traits
from apptek.models.reranking.candidates import Mirrors, Weighed, describe_candidates, names_of
from apptek.models.reranking.fitting import ListwiseLoss, folds_of
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

MODEL = "trees"
SETTINGS = ["reranker.rounds=20", "reranker.least_rows=20", "reranker.candidates=6"]


def small() -> Config:
    return with_settings(preset("max"), SETTINGS)


@pytest.fixture(scope="module")
def folder(shared_model: SharedModel) -> Path:
    return shared_model(MODEL)


def test_mirrors_are_what_most_often_goes_the_other_way() -> None:
    rows = [
        (0, 0, 1, 5), (1, 1, 0, 5),  # host and visit, the same day
        (2, 0, 3, 6), (3, 1, 2, 6),
        (4, 0, 5, 7), (5, 2, 4, 7),
        (6, 0, 7, 8), (7, 1, 6, 9),  # another day
        (1, 2, 4, 5),
        (8, 2, 8, 5),  # itself
        (0, 3, 8, 5),  # none
    ]  # fmt: skip
    columns = [np.asarray(column, np.int32) for column in zip(*rows, strict=True)]
    found = Mirrors.learned(Facts(columns[0], columns[1], columns[2], columns[3], columns[3]), 4)
    assert found.of.tolist() == [1, 0, 0, -1]
    assert found.share.tolist() == pytest.approx([2 / 4, 2 / 3, 1 / 2, 0])


def test_facts_of_two_entities_at_one_time_share_a_fold(data: Dataset) -> None:
    facts = data.train
    folds = folds_of(facts, 3, np.random.default_rng(0))
    found: dict[tuple[frozenset[int], int, int], set[int]] = defaultdict(set)
    columns = (facts.subjects, facts.objects, facts.since, facts.until, folds)
    for s, o, since, until, fold in zip(*(c.tolist() for c in columns), strict=True):
        found[frozenset((s, o)), since, until].add(fold)
    assert all(len(group) == 1 for group in found.values())
    assert len(found) < len(facts)
    assert np.bincount(folds).min() > 0.3 * len(facts)
    again = folds_of(facts, 3, np.random.default_rng(1))
    assert 0.2 < np.mean(folds == again) < 0.5


def test_the_slopes_are_those_of_the_listwise_loss() -> None:
    rng = np.random.default_rng(0)
    hits, left_out = np.eye(4, 3, dtype=np.bool_), np.zeros((4, 3), np.bool_)
    hits[3, 0], left_out[0, 2] = True, True
    scores = rng.normal(size=12)

    def loss(at: Doubles) -> float:
        table = np.where(left_out, -np.inf, at.reshape(4, 3))
        return float(-(table - np.log(np.exp(table).sum(axis=1, keepdims=True)))[hits].sum())

    slopes, curvature = ListwiseLoss(hits, left_out)(scores)
    moves = np.eye(12) * 1e-6
    expected = [(loss(scores + move) - loss(scores - move)) / 2e-6 for move in moves]
    np.testing.assert_allclose(slopes, expected, atol=1e-6)
    assert (curvature > 0).all()


def test_candidates_are_described_as_defined(predictor: Predictor, data: Dataset) -> None:
    space, classifier = predictor.answerer.main.space, predictor.model.main.classifier
    history = space.history
    assert history is not None
    queries = held_out_queries(data.test.take(np.arange(40)))
    rows = space.rows(queries)
    scores = classifier.scores(rows)
    mirrors = Mirrors.learned(data.train, len(data.predicates))
    weighed = Weighed(queries, rows, classifier.weights, scores)
    found = describe_candidates(space, weighed, mirrors, 5)
    names = names_of(space)
    names = names[: names.index("predicate") + 1]  # the others are those of test_candidate_features
    for row in range(40):
        columns, values = rows.row(row)
        order = np.argsort(-scores[row], kind="stable")[:5]
        assert found.predicates[row].tolist() == order.tolist()
        for place, r in enumerate(order.tolist()):
            expected: dict[str, float] = defaultdict(float)
            expected["rank"] = place
            expected["gap"] = scores[row, r] - scores[row].max()
            expected["log_probability"] = log_softmax(scores[row : row + 1])[0, r]
            expected["mirror share"] = mirrors.share[r]
            expected["predicate"] = r
            for column, value in zip(columns.tolist(), values.tolist(), strict=True):
                added = value * float(classifier.weights[column, r])
                if column >= len(history):
                    expected["part traits"] += added
                    continue
                family, predicate, kernel = history.feature(column)
                expected[f"part {family}"] += added
                if predicate == r:
                    expected[f"own {family} {kernel}"] = value
                if kernel == "same":
                    expected[f"now {family}"] += value
                    if family == "reversed" and predicate == mirrors.of[r]:
                        expected["mirror now"] = value
                if kernel in ("ever", "undated ever"):
                    expected[f"seen {family}"] += 1
            wanted = [expected[name] for name in names]
            own = found.features[row, place, : len(names)]
            np.testing.assert_allclose(own, wanted, atol=1e-4)


def test_the_re_ranker_is_better_than_the_linear_model_on_valid(predictor: Predictor) -> None:
    tried = [epoch["valid_mrr"] for epoch in predictor.model.main.report["tried"]]
    assert predictor.model.main.report["valid_mrr"] > max(tried)
    assert predictor.evaluate("valid").metrics.mrr == pytest.approx(
        predictor.model.main.report["valid_mrr"]
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trees_and_a_loaded_model_answers_as_the_fitted_one(
    tmp_path: Path,
) -> None:
    data = make_world(1500, 1).dataset
    first, again = tmp_path / "first", tmp_path / "again"
    fitted = Predictor.fit(data, folder=first, model="max", config=small())
    Predictor.fit(data, folder=again, model="max", config=small())
    assert (first / "trees" / "all_facts.txt").exists()
    assert files_of(first) == files_of(again)
    loaded, queries = Predictor.load(first), held_out_queries(data.test)
    assert loaded.model is not fitted.model
    assert np.array_equal(
        loaded.answerer.main.scores(queries), fitted.answerer.main.scores(queries)
    )


def test_only_candidates_move(predictor: Predictor, data: Dataset) -> None:
    queries = held_out_queries(data.test.take(np.arange(30)))
    rows = predictor.answerer.main.space.rows(queries)
    linear = predictor.model.main.classifier.scores(rows)
    logs, scores = log_softmax(linear), predictor.answerer.main.scores(queries)
    moved = np.abs(scores - logs) > 1e-6
    assert 0 < moved.sum(axis=1).max() <= 6
    order = np.argsort(-linear, axis=1, kind="stable")
    assert not np.take_along_axis(moved, order[:, 6:], axis=1).any()


def test_contributions_of_trees_and_features_add_up(predictor: Predictor, data: Dataset) -> None:
    outcomes = 0
    for row in range(0, 60, 6):
        query = query_about(data, data.test, row)
        found = predictor.explain(query)
        scores = predictor.answerer.main.scores(predictor.answerer.queries_of([query]))[0]
        names = data.predicates
        parts = found.contributions()
        words = {part.sentence for part in parts if part.kind == "reranker"}
        met = any((part.kind, part.family) == ("history", "pair") for part in parts)
        told = f"the tree model, based on what {query.subject} did to {query.object}" in words
        assert told == met
        assert not any("linear model" in text for text in words)
        assert any(f"actors like {query.subject} and {query.object} do" in text for text in words)
        assert "how the evidence combines (several" not in found.paragraph
        score = float(scores[names.find(found.predicate)])
        rival = float(scores[names.find(found.runner_up)])
        odds = (score - rival) / found.temperature
        assert found.bias + sum(p.log_odds for p in parts) == pytest.approx(odds, abs=1e-4)
        changed = predictor.counterfactual(query)  # of the re-ranked scores
        assert changed.answer == found.predicate
        outcomes += changed.outcome is not None
    assert outcomes >= 3


def test_what_nothing_is_known_of_is_no_reason(predictor: Predictor, data: Dataset) -> None:
    found = predictor.explain(Query("Nobody", "No one", "2019-05-05"), allow_unknown=True)
    words = [part.sentence for part in found.contributions() if part.kind == "reranker"]
    assert words == ["the tree model, based on how probable the answer is without the trees"]
    assert "No facts connect this pair" in explanation_text(found)
    known = predictor.explain(Query(data.entities[0], "No one", "2019-05-05"), allow_unknown=True)
    words = [part.sentence for part in known.contributions() if part.kind == "reranker"]
    assert any(f"others did to {data.entities[0]}" in text for text in words)
    assert not any("did to No one" in text for text in words)


def test_trees_that_do_not_improve_the_ranking_are_left_out(tmp_path: Path) -> None:
    data = make_world(1500, 3).dataset
    wild = ["reranker.learning_rate=1", "reranker.least_rows=1", "reranker.rounds=30"]
    config = with_settings(small(), wild)
    without = Predictor.fit(data, config=with_settings(config, ["reranker.rounds=0"]))
    Predictor.fit(data, config=config).save(tmp_path / "model")
    loaded = Predictor.load(tmp_path / "model")
    assert loaded.model.views["past_only"].reranker is None
    queries = held_out_queries(data.test)
    scores = [each.answerer.view_in_use("past_only").scores(queries) for each in (loaded, without)]
    np.testing.assert_array_equal(scores[0], scores[1])
    reports = [each.model.views["past_only"].report for each in (loaded, without)]
    assert reports[0]["valid_mrr"] == reports[1]["valid_mrr"]


def test_damaged_trees_are_refused(folder: Path, tmp_path: Path, data: Dataset) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    (broken / "trees" / "all_facts.txt").write_text("tree\nno tree\n", encoding="utf-8")
    rewrite_manifest(broken)
    asked = [Query(data.entities[0], data.entities[1], "2019-05-05")]
    with pytest.raises(ModelError, match="trees of the re-ranker are damaged"):
        Predictor.load(broken).predict(asked)
    text = (folder / "trees" / "all_facts.txt").read_text(encoding="utf-8")
    (broken / "trees" / "all_facts.txt").write_text(text[: len(text) // 2], encoding="utf-8")
    rewrite_manifest(broken)
    with pytest.raises(ModelError, match="their end is missing"):
        Predictor.load(broken).predict(asked)


def test_trees_for_other_features_are_refused(predictor: Predictor, data: Dataset) -> None:
    view = predictor.answerer.main
    history, traits = view.space.parts
    assert isinstance(traits, Traits)
    fewer = replace(view.space, parts=(history, replace(traits, kinds=())))
    queries = held_out_queries(data.test.take(np.arange(3)))
    trees, classifier = view.fitted.reranker, view.fitted.classifier
    assert trees is not None
    rows = view.space.rows(queries)
    weighed = Weighed(queries, rows, classifier.weights, classifier.scores(rows))
    with pytest.raises(ModelError, match="fit again"):
        trees.scores(fewer, weighed)


def test_without_lightgbm_it_is_said_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "lightgbm" else name)
    done = apptek("predict", str(folder), "a", "b", "2019-05-05", "--allow-unknown", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'apptek[max]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_fit_says_which_trees_are_left_out(tmp_path: Path) -> None:
    lines = [f"A{n},act {n},B{n},2014-01-{n + 1:02}\n" for n in range(30)]
    for name, rows, why in (
        ("few", [*lines[:1], "A0,act 1,B0,2014-01-01\n"], "there is too little data to learn from"),
        ("apart", lines, "they do not raise the MRR"),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text("subject,predicate,object,time\n" + "".join(rows), encoding="utf-8")
        done = succeeds("fit", str(path), "--model", "max", "--out", str(tmp_path / name))
        assert f"the re-ranker's trees are left out, because {why}" in done.stderr


@pytest.mark.slow
def test_kinds_of_types_may_have_any_name() -> None:
    data = make_world(1000, 1).dataset
    half = {name: str(place % 2) for place, name in enumerate(data.entities)}
    table = {'role: "main", other': half, "itself": half}
    config = with_settings(small(), ["reranker.rounds=2"])
    predictor = Predictor.fit(data, model="max", config=config, types=table)
    assert predictor.predict([Query(data.entities[0], data.entities[1], "2019-05-05")])
