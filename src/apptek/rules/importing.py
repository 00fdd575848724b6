"""Rules that were edited, read back into a model.

The file says which rules were exported, so that those that are missing now were removed on purpose:
their weight becomes 0. A rule with another weight gets it, and a new one is added; its body must be
a feature of the view. Everything else of the model stays as it is.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard, get_args

import numpy as np

from apptek.config import View
from apptek.errors import DataError
from apptek.models.model import FittedView, Model
from apptek.rules.export import FORMAT
from apptek.rules.rule import Body, bodies_of

Key = tuple[View, Body, str]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of the rules of a file."""

    unchanged: int
    changed: int
    removed: int
    added: int


def import_rules(model: Model, path: Path) -> tuple[Model, ImportReport]:
    """The model with the weights that the rules of a file say; DataError where one is no rule."""
    about, edited = _read(path)
    if about.get("digest") != model.dataset.train.digest():
        raise DataError(f"{path}: the rules were exported from a model of other facts")
    least = about.get("least")
    if not _is_number(least) or not 0 <= least < _LARGEST:
        raise DataError(f"{path}: expected `least`, the least weight that was exported")
    least = float(least)
    views, total = dict(model.views), ImportReport(0, 0, 0, 0)
    for view, fitted in model.views.items():
        of_view = {key: weight for key, weight in edited.items() if key[0] == view}
        views[view], report = _edit_view(model, view, fitted, of_view, least)
        total = ImportReport(*(getattr(total, n) + getattr(report, n) for n in _COUNTS))
    return replace(model, views=views), total


_LARGEST = 1e30  # a weight
_COUNTS = ("unchanged", "changed", "removed", "added")


def _edit_view(
    model: Model, view: View, fitted: FittedView, edited: dict[Key, np.float32], least: float
) -> tuple[FittedView, ImportReport]:
    names = model.dataset.predicates
    column_of = {body: column for column, body in enumerate(bodies_of(model, model.space(view)))}
    weights = fitted.classifier.weights.copy()
    exported = (np.abs(weights) >= np.float32(least)) & (weights != 0)
    wanted = np.zeros(weights.shape, np.bool_)
    changed = added = 0
    for (_, body, head), weight in edited.items():
        column, predicate = column_of.get(body), names.find(head)
        if column is None or predicate is None:
            missing = "predicate" if column is not None else "feature"
            words = " ".join([body.part, body.where, *map(repr, body.what), body.when])
            raise DataError(f"{view}: the model has no such {missing}: {words} => {head!r}")
        wanted[column, predicate] = True
        if weights[column, predicate] != weight:
            is_known = exported[column, predicate]
            changed, added = changed + bool(is_known), added + (not is_known)
            weights[column, predicate] = weight
    removed = exported & ~wanted
    weights[removed] = 0.0
    report = ImportReport(
        len(edited) - changed - added, changed, int(np.count_nonzero(removed)), added
    )
    if not changed + added + report.removed:
        return fitted, report
    return replace(fitted, classifier=replace(fitted.classifier, weights=weights)), report


def _read(path: Path) -> tuple[dict[str, Any], dict[Key, np.float32]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path}: expected the JSON file of `apptek rules export`")
    rules: dict[Key, np.float32] = {}
    for number, entry in enumerate(content.get("rules", []), 1):
        key, weight = _rule(entry, f"{path}: rule {number}")
        if key in rules:
            raise DataError(f"{path}: rule {number} is there twice: {key[1]} => {key[2]!r}")
        rules[key] = weight
    return content, rules


def _rule(entry: Any, where: str) -> tuple[Key, np.float32]:
    try:
        named = entry["what"] if isinstance(entry["what"], list) else None
        what = tuple(map(str, named))  # type: ignore[arg-type]  # None is a TypeError
        body = Body(str(entry["part"]), str(entry["where"]), what, str(entry.get("when", "")))
        view, head, given = entry["view"], str(entry["head"]), entry["weight"]
    except (KeyError, TypeError, AttributeError):
        wanted = "view, part, where, what (a list), head and weight"
        raise DataError(f"{where}: expected an object with {wanted}") from None
    if view not in get_args(View):
        raise DataError(f"{where}: found the view {view!r}, expected {' or '.join(get_args(View))}")
    if not _is_number(given) or not abs(given) < _LARGEST:
        limit = f"a number between {-_LARGEST:g} and {_LARGEST:g}"
        raise DataError(f"{where}: found the weight {str(given)[:40]}, expected {limit}")
    return (view, body, head), np.float32(given)


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether JSON has a number there: True and "2" are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
