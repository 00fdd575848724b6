"""Predicates that are codes: people see labels, and tables keep the codes beside them."""

import csv
import json
import re
from pathlib import Path

import pytest
from command_line import apptek, succeeds

from apptek.facts.protocols import Splitting
from apptek.forecast.watch import watch
from apptek.forecast.window import Length
from apptek.models.registry import model_settings
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.present.tables import write_result
from apptek.reading.reader import read_dataset
from apptek.results import to_dict
from apptek.rules import rules_of
from apptek.setting_rules import with_settings

LABELS = {"040": "Consult", "190": "Use conventional military force", "042": "Make a visit"}
# A code that is no part of a date or number, unless it stands in brackets after its label.
CODE = re.compile(r"(?<![\w(.-])(040|042|190)(?![\w.])")


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    codes = list(LABELS)
    facts = [
        (
            f"e{n % 7}",
            codes[n % 3],
            f"e{(n + 1 + n % 2) % 7}",
            f"2014-{1 + n % 9:02}-{1 + n % 27:02}",
        )
        for n in range(400)
    ]
    return Predictor.fit(read_dataset(facts, splitting=Splitting(train=1, valid=0)))


@pytest.fixture(scope="module")
def folder(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("labels") / "model"
    predictor.save(folder)
    return str(folder)


def test_reasons_and_their_facts_show_labels(predictor: Predictor) -> None:
    found = predictor.explain(Query("e1", "e2", "2014-05-13"))
    text, page = explanation_text(found, 200), found.html()
    assert any(f" | {label} | " in text for label in LABELS.values())
    assert any(f"<b>{label}</b>" in page for label in LABELS.values())
    assert not CODE.search(text)
    assert not any(f"<b>{code}</b>" in page or f"| {code} |" in page for code in LABELS)
    cited = {fact["predicate"] for r in to_dict(found)["reasons"] for fact in r["facts"]}
    assert cited <= LABELS.keys()


def test_a_counterfactual_names_its_target_by_its_label(folder: str, predictor: Predictor) -> None:
    query = ("e1", "e2", "2014-05-13")
    answer, *others = predictor.predict(Query(*query))[0].predicates
    done = apptek(
        "explain", folder, *query, "--counterfactual", "--to", LABELS[others[0]], "--json"
    )
    assert json.loads(done.stdout)["target"] == others[0]
    for target in others:
        assert not CODE.search(
            apptek("explain", folder, *query, "--counterfactual", "--to", target).stdout
        )
    done = apptek("explain", folder, *query, "--counterfactual", "--to", answer)
    assert f"{LABELS[answer]} ({answer})" in done.stderr


def test_rules_show_labels_and_keep_codes(predictor: Predictor) -> None:
    for rule in rules_of(predictor.model, 0.0).to_pylist():
        assert rule["head_label"] == LABELS[rule["head"]]
        if rule["part"] == "history":
            assert rule["what_label"] == LABELS[rule["what"][0]]


def test_topologies_show_labels(predictor: Predictor, tmp_path: Path) -> None:
    config = with_settings(model_settings("paper"), ["mining.policy=random"])
    folder = str(tmp_path / "paper")
    Predictor.fit(predictor.model.dataset, model="paper", config=config, folder=folder)
    done = succeeds("paper", "topologies", folder, COLUMNS="200")
    assert "Consult (040)" in done.stdout
    assert not CODE.search(done.stdout)


def test_a_watch_list_has_labels_beside_codes(predictor: Predictor, tmp_path: Path) -> None:
    forecaster = predictor.forecaster
    listed = watch(forecaster, [("e1", "e2")], forecaster.window(None, Length(days=7)))
    write_result(tmp_path / "watch.csv", listed)
    with (tmp_path / "watch.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    for number in (1, 2, 3):
        assert row[f"label_{number}"] == LABELS[row[f"predicate_{number}"]]


def test_an_audit_has_labels_beside_codes(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.csv"
    succeeds("audit", folder, "--out", str(file), "--reasons", "3")
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        assert row["label"] == LABELS[row["predicate"]]
        assert row["expected_label"] == LABELS[row["expected"]]
    assert len(rows) > 300
