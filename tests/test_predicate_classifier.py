"""The classifier with the scikit-learn API."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fact_files import in_words

from apptek import PredicateClassifier
from apptek.errors import ApptekError, DataError
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world

NAMES = ["subject", "object", "time"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    data = make_world(1500, 0).dataset
    rows = [row[:4] for row in in_words(data, data.all_facts())]
    return pd.DataFrame(rows, columns=["subject", "predicate", "object", "time"])


@pytest.fixture(scope="module")
def fitted(frame: pd.DataFrame) -> PredicateClassifier:
    return PredicateClassifier(seed=3).fit(frame[NAMES], frame["predicate"])


def test_probabilities_have_a_column_for_each_class(
    fitted: PredicateClassifier, frame: pd.DataFrame
) -> None:
    assert list(fitted.classes_) == sorted(set(frame["predicate"]))
    rows = list(frame[NAMES].head(40).itertuples(index=False, name=None))
    shares = fitted.predict_proba(rows)
    assert shares.shape == (40, len(fitted.classes_))
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-4)
    for same in (frame[NAMES].head(40), frame[NAMES].head(40).to_numpy()):
        assert np.array_equal(shares, fitted.predict_proba(same))
    answers = fitted.predictor_.predict(rows)
    assert list(fitted.predict(rows)) == [answer.predicates[0] for answer in answers]
    right = np.mean(fitted.predict(rows) == frame["predicate"].head(40))
    assert fitted.score(rows, frame["predicate"].head(40)) == right > 0.3


def test_it_answers_from_all_rows_and_a_frame_may_hold_the_labels(
    fitted: PredicateClassifier, frame: pd.DataFrame
) -> None:
    facts = fitted.predictor_.model.graph.facts
    assert len(facts) == len(frame.drop_duplicates())
    again = PredicateClassifier(seed=3).fit(frame)
    rows = frame[NAMES].head(20)
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))


def test_parameters_are_those_of_the_constructor(frame: pd.DataFrame) -> None:
    classifier = PredicateClassifier(valid=0.2)
    assert repr(classifier) == "PredicateClassifier(valid=0.2)"
    assert PredicateClassifier(**classifier.get_params()).get_params() == classifier.get_params()
    assert classifier.set_params(seed=5).seed == 5
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        classifier.set_params(depth=3)
    with pytest.raises(ApptekError, match="not fitted yet"):
        classifier.predict([("a", "b", "?")])
    with pytest.raises(DataError, match="found 2 predicates for 1 row"):
        classifier.fit([("a", "b", "?")], ["p", "q"])
    with pytest.raises(DataError, match="fit needs predicates"):
        classifier.fit(frame[NAMES])
    with pytest.raises(DataError, match="split by 'day': expected random or time"):
        PredicateClassifier(split_by="day").fit(frame)


def test_labels_keep_their_type(frame: pd.DataFrame) -> None:
    codes = frame["predicate"].astype("category").cat.codes.astype("int64").head(400)
    rows = frame[NAMES].head(400)
    few = PredicateClassifier().fit(rows, codes)
    assert few.classes_.dtype == np.int64
    assert list(few.classes_) == sorted(set(codes))  # 2 before 10
    assert few.score(rows, codes) > 0.3
    assert few.predict(rows).dtype == np.int64
    best = [int(answer.predicates[0]) for answer in few.predictor_.predict(rows.head(5))]
    assert few.predict(rows.head(5)).tolist() == best
    with pytest.raises(DataError, match="found the labels 1 and '1', expected one type"):
        PredicateClassifier().fit([("a", "b", "?"), ("a", "c", "?")], [1, "1"])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_answer_the_same(
    fitted: PredicateClassifier, frame: pd.DataFrame, copied: Callable[[Any], Any]
) -> None:
    rows = frame[NAMES].head(20)
    wanted = fitted.predict_proba(rows)
    assert np.array_equal(copied(fitted).predict_proba(rows), wanted)
    predictor = copied(Predictor(fitted.predictor_.model, {"seed": 3}, past_only=True))
    assert predictor.run == {"seed": 3}
    answers = predictor.predict(rows)
    assert [answer.view for answer in answers] == ["past_only"] * 20
    assert predictor.explain(answers[0].query).predicate == answers[0].predicates[0]


def test_it_works_with_scikit_learn(frame: pd.DataFrame, fitted: PredicateClassifier) -> None:
    base = pytest.importorskip("sklearn.base")
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted

    few = frame[frame["predicate"].isin(frame["predicate"].value_counts().index[:4])].head(200)
    rows, labels = few[NAMES], few["predicate"].astype("category").cat.codes
    assert base.is_classifier(PredicateClassifier())
    assert base.clone(PredicateClassifier(valid=0.2)).valid == 0.2
    check_is_fitted(fitted)
    assert cross_val_score(PredicateClassifier(), rows, labels, cv=2).min() > 0.2
    search = GridSearchCV(
        make_pipeline(PredicateClassifier()), {"predicateclassifier__valid": [0.2]}, cv=2
    )
    search.fit(rows, labels)
    assert search.best_score_ > 0.2
    assert set(search.predict(rows)) <= set(labels)


def test_it_works_without_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None\n"
        "from apptek import PredicateClassifier\n"
        "PredicateClassifier(seed=3).predict([])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "not fitted yet" in done.stderr
