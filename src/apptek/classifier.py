"""A classifier with the scikit-learn API: rows in, labels and probabilities out."""

from typing import Any

import numpy as np

from apptek.arrays import Matrix
from apptek.errors import ApptekError, DataError
from apptek.facts.facts import Dataset
from apptek.facts.protocols import Splitting
from apptek.models.asked_queries import asked_queries, queries_in
from apptek.predictor import Predictor
from apptek.reading.frames import is_frame, table_of
from apptek.reading.reader import read_dataset
from apptek.safe_text import counted

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
except ImportError:  # fitting and prediction work without scikit-learn too

    class BaseEstimator:  # type: ignore[no-redef]
        """A substitute for scikit-learn's class."""

    class ClassifierMixin:  # type: ignore[no-redef]
        """A substitute for scikit-learn's class."""


class PredicateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose rows are (subject, object, time) and whose labels are predicates.

    classifier = PredicateClassifier().fit(rows, predicates)
    classifier.predict([("Iran", "China", "2014-02-02")])
    classifier.predict_proba(rows)                         (n, R), a column for each of classes_

    The rows are tuples, or a frame with the columns subject, object and time. Some rows are held
    out for choosing settings and for calibration. The fitted model answers from all rows. Labels
    may have any type, which is preserved. `predictor_` is the fitted Predictor, which also
    explains. The class works with scikit-learn's `cross_val_score`, `GridSearchCV` and pipelines.

    model     default, max or paper, as in Predictor.fit
    valid     the proportion of rows to hold out
    split_by  how to choose them: at random, or the last ones by time
    """

    def __init__(
        self,
        *,
        model: str = "default",
        valid: float = 0.1,
        split_by: str = "random",
        seed: int = 0,
    ) -> None:
        self.model, self.valid, self.split_by, self.seed = model, valid, split_by, seed

    def fit(self, rows: Any, predicates: Any = None) -> "PredicateClassifier":
        """Fit on rows and their predicates, which may also be the column `predicate` of a frame."""
        splitting = Splitting(
            by=self.split_by,  # type: ignore[arg-type]
            train=1 - self.valid,
            valid=self.valid,
            seed=self.seed,
        )
        labels = _labels_of(rows, predicates)
        data = _facts_of(rows, None if predicates is None else labels, splitting)
        self.predictor_ = Predictor.fit(data, model=self.model, seed=self.seed, final=True)
        classes = sorted(set(labels))
        self.classes_ = np.asarray(classes)
        self._columns = np.asarray([data.predicates.find(str(label)) for label in classes])
        return self

    def predict_proba(self, rows: Any) -> Matrix:
        """Return the probability of each of `classes_` for each row: (n, R)."""
        predictor = self._fitted()
        asked = asked_queries(rows, predictor.model.dataset.axis)
        ranked = predictor.answerer.ranked(predictor.answerer.queries_of(asked))
        return ranked.probabilities[:, self._columns]

    def predict(self, rows: Any) -> np.ndarray[Any, Any]:
        """Return the most probable predicate of each row: (n,)."""
        best = self.predict_proba(rows).argmax(axis=1)
        labels: np.ndarray[Any, Any] = self.classes_[best]
        return labels

    def score(self, rows: Any, predicates: Any) -> float:
        """Return the proportion of rows whose most probable predicate is the given one."""
        return float(np.mean(self.predict(rows) == np.asarray(list(predicates), dtype=object)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _fitted(self) -> Predictor:
        if not hasattr(self, "predictor_"):
            raise ApptekError("the classifier is not fitted yet: call fit first")
        return self.predictor_


def _labels_of(rows: Any, predicates: Any) -> list[Any]:
    """Return the labels as Python values instead of numpy values. All must have the same type."""
    if predicates is not None:
        labels = [x.item() if isinstance(x, np.generic) else x for x in predicates]
    else:
        table = table_of(rows) if is_frame(rows) else None
        if table is None or "predicate" not in table.column_names:
            raise DataError("fit needs predicates: fit(rows, predicates), or a column `predicate`")
        labels = table.column("predicate").to_pylist()
    one_of_each = {type(label): label for label in labels}
    if len(one_of_each) > 1:
        one, other, *_ = one_of_each.values()
        raise DataError(f"found the labels {one!r} and {other!r}, expected one type")
    return labels


def _facts_of(rows: Any, labels: list[Any] | None, splitting: Splitting) -> Dataset:
    if labels is None:
        return read_dataset(rows, splitting=splitting)
    queries = queries_in(rows)
    if len(queries) != len(labels):
        raise DataError(
            f"found {counted(len(labels), 'predicate')} for {counted(len(queries), 'row')}"
        )
    facts = [
        (query.subject, str(label), query.object, query.time)
        for query, label in zip(queries, labels, strict=True)
    ]
    return read_dataset(facts, splitting=splitting)
