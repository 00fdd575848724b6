"""Rules: what is exported is what the model computes with; what is edited is what it then does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import apptek

from apptek.data.queries import Queries, training_queries
from apptek.errors import DataError
from apptek.predictor import Predictor
from apptek.rules.export import rules_of, write_rules
from apptek.rules.importing import ImportReport, import_rules
from apptek.rules.rule import Body, bodies_of


@pytest.fixture(scope="module")
def predictor(default_model: Path) -> Predictor:
    return Predictor.load(default_model)


@pytest.fixture(scope="module")
def exported(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    write_rules(predictor.model, rules_of(predictor.model), 0.2, path)
    return path


def _queries(predictor: Predictor) -> Queries:
    return training_queries(predictor.model.graph.facts).take(np.arange(1000))


def _edited(exported: Path, folder: Path, rules: list[dict[str, Any]]) -> Path:
    content = json.loads(exported.read_text(encoding="utf-8"))
    path = folder / "edited.json"
    path.write_text(json.dumps(content | {"rules": rules}), encoding="utf-8")
    return path


def _rules(exported: Path) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = json.loads(exported.read_text(encoding="utf-8"))["rules"]
    return rules


def test_unchanged_rules_give_the_same_scores(predictor: Predictor, exported: Path) -> None:
    model, report = import_rules(predictor.model, exported)
    assert report == ImportReport(len(_rules(exported)), 0, 0, 0)
    queries, again = _queries(predictor), Predictor(model)
    for view in ("within", "ahead"):
        before = predictor.answerer.views[view].scores(queries)
        assert np.array_equal(before, again.answerer.views[view].scores(queries))


@pytest.mark.slow
def test_all_weights_are_rules_and_rebuild_the_model(predictor: Predictor, tmp_path: Path) -> None:
    """Read back into a model without weights, all rules give the same scores."""
    path = tmp_path / "all.json"
    write_rules(predictor.model, rules_of(predictor.model, 0.0), 0.0, path)
    empty = {
        view: replace(
            fitted,
            classifier=replace(fitted.classifier, weights=np.zeros_like(fitted.classifier.weights)),
        )
        for view, fitted in predictor.model.views.items()
    }
    rebuilt, report = import_rules(replace(predictor.model, views=empty), path)
    assert report.added == len(_rules(path))
    queries = _queries(predictor)
    assert np.array_equal(Predictor(rebuilt).scores(queries), predictor.scores(queries))


def test_support_is_counted_over_the_training_queries(predictor: Predictor) -> None:
    model = predictor.model
    rules = [rule for rule in rules_of(model) if rule.view == "within"]
    rows = model.space("within").rows(training_queries(model.dataset.train))
    columns = {body: column for column, body in enumerate(bodies_of(model, model.space("within")))}
    train = model.dataset.train
    usable = train.subjects != train.objects
    for rule in rules[:: max(1, len(rules) // 20)]:
        column, head = columns[rule.body], model.dataset.predicates.find(rule.head)
        active = [usable[row] and column in rows.row(row)[0] for row in range(len(rows))]
        followed = np.flatnonzero(active)[train.predicates[active] == head]
        assert (rule.queries, rule.followed) == (sum(active), len(followed))
        share = np.mean(train.predicates[usable] == head)
        assert rule.lift == pytest.approx(len(followed) / max(sum(active), 1) / share)


def test_common_heads_and_weighty_rules_with_support_come_first(predictor: Predictor) -> None:
    shares = np.bincount(predictor.model.dataset.train.predicates)
    names = predictor.model.dataset.predicates
    rules = rules_of(predictor.model)
    for view in ("within", "ahead"):
        own = [rule for rule in rules if rule.view == view]
        heads = list(dict.fromkeys(rule.head for rule in own))
        counts = [int(shares[names.find(head) or 0]) for head in heads]
        assert counts == sorted(counts, reverse=True)
        for head in heads:
            strengths = [abs(r.weight) * np.log1p(r.queries) for r in own if r.head == head]
            assert strengths == pytest.approx(sorted(strengths, reverse=True))


def test_a_removed_rule_speaks_no_more(
    predictor: Predictor, exported: Path, tmp_path: Path
) -> None:
    rules = _rules(exported)
    model, report = import_rules(predictor.model, _edited(exported, tmp_path, rules[1:]))
    assert (report.removed, report.changed, report.added) == (1, 0, 0)
    left = {rule.key for rule in rules_of(model)}
    assert {rule.key for rule in rules_of(predictor.model)} - left == {
        next(rule.key for rule in rules_of(predictor.model))
    }


def test_weights_are_changed_and_own_rules_added(
    predictor: Predictor, exported: Path, tmp_path: Path
) -> None:
    rules = _rules(exported)
    own = {
        "view": "ahead", "part": "history", "where": "reversed", "what": ["Demand"],
        "when": "before", "head": "Reject", "weight": 4.5,
    }  # fmt: skip
    rules[0]["weight"] = -3.25
    model, report = import_rules(predictor.model, _edited(exported, tmp_path, [*rules, own]))
    assert (report.removed, report.changed, report.added) == (0, 1, 1)
    weights = {rule.key: rule.weight for rule in rules_of(model)}
    body = Body("history", "reversed", ("Demand",), "before")
    assert weights["ahead", body, "Reject"] == 4.5
    assert -3.25 in weights.values()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": "No such thing"}, "no such predicate"),
        ({"what": ["No such thing"]}, "no such feature"),
        ({"view": "sideways"}, "expected within or ahead"),
        ({"weight": "heavy"}, "expected a number between"),
        ({"weight": "2.5"}, "expected a number between"),
        ({"weight": True}, "expected a number between"),
        ({"weight": 10**400}, "expected a number between"),
        ({"weight": float("inf")}, "expected a number between"),
        ({"weight": float("nan")}, "expected a number between"),
    ],
)
def test_what_is_no_rule_is_refused(
    predictor: Predictor, exported: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    rules = [rule for rule in _rules(exported) if rule["part"] == "history"]
    path = _edited(exported, tmp_path, [rules[0] | change])
    with pytest.raises(DataError, match=message):
        import_rules(predictor.model, path)


@pytest.mark.parametrize("least", ["0", True, float("nan"), -1])
def test_a_least_weight_that_is_no_number_is_refused(
    predictor: Predictor, exported: Path, tmp_path: Path, least: Any
) -> None:
    content = json.loads(exported.read_text(encoding="utf-8")) | {"least": least}
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match="expected `least`"):
        import_rules(predictor.model, tmp_path / "odd.json")


def test_brackets_without_end_are_no_rules(predictor: Predictor, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(DataError, match="is not JSON"):
        import_rules(predictor.model, tmp_path / "deep.json")


def test_a_file_without_its_least_weight_is_refused(
    predictor: Predictor, exported: Path, tmp_path: Path
) -> None:
    content = json.loads(exported.read_text(encoding="utf-8"))
    del content["least"]
    (tmp_path / "bare.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match="expected `least`"):
        import_rules(predictor.model, tmp_path / "bare.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"when": "someday"}, "no such feature"),
        ({"what": "Accuse"}, "expected an object with view, part"),
        ({"weight": 1e300}, "expected a number between"),
    ],
)
def test_edits_that_cannot_be_meant_are_refused(
    predictor: Predictor, exported: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    rules = _rules(exported)
    rules[0] = rules[0] | change
    with pytest.raises(DataError, match=message):
        import_rules(predictor.model, _edited(exported, tmp_path, rules))


def test_rules_of_other_facts_and_repeated_rules_are_refused(
    predictor: Predictor, exported: Path, explored_model: Path, tmp_path: Path
) -> None:
    other = Predictor.load(explored_model)
    with pytest.raises(DataError, match="other facts"):
        import_rules(other.model, exported)
    rules = _rules(exported)
    with pytest.raises(DataError, match="twice"):
        import_rules(predictor.model, _edited(exported, tmp_path, [rules[0], rules[0]]))


def test_the_commands_export_and_import(predictor: Predictor, tmp_path: Path) -> None:
    folder, out = str(tmp_path / "model"), str(tmp_path / "edited")
    predictor.save(folder)
    for ending in ("txt", "csv", "json"):
        file = tmp_path / f"rules.{ending}"
        done = apptek("rules", "export", folder, "--out", str(file), "--json")
        assert done.returncode == 0, done.stderr
        count = json.loads(done.stdout)["rules"]
        lines = file.read_text(encoding="utf-8").count("\n")
        assert lines >= count
    done = apptek("rules", "import", folder, str(tmp_path / "rules.json"), "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["unchanged"] == count
    queries = _queries(predictor)
    assert np.array_equal(Predictor.load(out).scores(queries), predictor.scores(queries))


@pytest.mark.gate
def test_topologies_are_rules_of_several_steps(served_model: Path) -> None:
    rules = rules_of(Predictor.load(served_model).model, 0.0)
    assert {rule.body.part for rule in rules} == {"topology"}
    assert max(len(rule.body.what) for rule in rules) > 1
