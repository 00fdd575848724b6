"""The rules of a model: every weight that is large enough, with its support in training."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from apptek.arrays import Doubles, Longs
from apptek.config import View
from apptek.data.predicate_table import PredicateTable
from apptek.data.queries import askable, training_queries
from apptek.errors import DataError
from apptek.explain.wording import percent, signed
from apptek.features.space import FeatureSpace
from apptek.files import check_target, write_whole
from apptek.models.model import Model, with_training_facts
from apptek.rules.rule import Body, Rule, bodies_of

FORMAT = 1
LEAST = 0.2  # of a weight, either way, that makes a rule, unless said otherwise
CHUNK = 8192  # training queries counted at a time
ENDINGS = (".txt", ".json", ".csv")


def rules_of(model: Model, least: float = LEAST) -> list[Rule]:
    """The rules of all views with a weight of at least `least` either way, not 0.

    By view; the commonest heads first; of each head, the rules with the largest weight * log(1 +
    queries) first, so that those without support come last.
    """
    fitted = with_training_facts(model)
    return [rule for view in model.views for rule in _rules_of_view(fitted, view, least)]


def _rules_of_view(model: Model, view: View, least: float) -> Iterator[Rule]:
    space = model.space(view)
    weights, names = model.views[view].classifier.weights, model.dataset.predicates
    chosen = (np.abs(weights) >= np.float32(least)) & (weights != 0)
    if not chosen.any():
        return
    counts, shares = _count(model, space)
    bodies, queries = bodies_of(model, space), counts.sum(axis=1)
    columns, heads = np.nonzero(chosen)
    strength = np.abs(weights[columns, heads]) * np.log1p(queries[columns])
    order = np.lexsort((columns, -strength, heads, -shares[heads]))
    for column, head in zip(columns[order].tolist(), heads[order].tolist(), strict=True):
        asked, followed = int(queries[column]), int(counts[column, head])
        confidence = followed / asked if asked else 0.0
        yield Rule(
            view=view,
            body=bodies[column],
            head=names[head],
            weight=float(weights[column, head]),
            queries=asked,
            followed=followed,
            confidence=confidence,
            lift=confidence / shares[head] if shares[head] else 0.0,
        )


def _count(model: Model, space: FeatureSpace) -> tuple[Longs, Doubles]:
    """Training queries by feature and predicate, (F, R), and the share of each predicate."""
    train = model.dataset.train
    queries, count = training_queries(train), len(model.dataset.predicates)
    usable = askable(train)
    totals = np.zeros(len(space) * count, np.int64)
    for start in range(0, len(usable), CHUNK):
        part = usable[start : start + CHUNK]
        rows = space.rows(queries.take(part))
        labels = np.repeat(train.predicates[part].astype(np.int64), np.diff(rows.offsets))
        pairs = rows.columns.astype(np.int64) * count + labels
        keys, repeats = np.unique(pairs, return_counts=True)
        totals[keys] += repeats
    shares = np.bincount(train.predicates[usable], minlength=count) / max(len(usable), 1)
    return totals.reshape(len(space), count), shares


def check_rules_file(path: Path) -> None:
    """ApptekError where rules cannot be written there; to be asked before long work."""
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: unknown kind of file; expected {', '.join(ENDINGS)}")
    check_target(path)


def write_rules(model: Model, rules: list[Rule], least: float, path: Path) -> None:
    """Writes rules in the form that the ending says; only JSON can be read back."""
    texts = {".txt": _text, ".json": _json, ".csv": _csv}
    write_whole(path, texts[path.suffix.lower()](model, rules, least))


def _json(model: Model, rules: list[Rule], least: float) -> bytes:
    """One rule in a line, so that people and programs that compare files can read it."""
    about = {
        "format": FORMAT,
        "dataset": model.dataset.name,
        "digest": model.dataset.train.digest(),
        "least": least,
    }
    head = json.dumps(about, ensure_ascii=False)[:-1]
    words = model.dataset.labels or PredicateTable()
    lines = ",\n".join(json.dumps(rule_json(rule, words), ensure_ascii=False) for rule in rules)
    return f'{head}, "rules": [\n{lines}\n]}}\n'.encode()


def rule_json(rule: Rule, words: PredicateTable) -> dict[str, Any]:
    """A rule as a JSON object; its weight is exact, and labels are only there to be read."""
    body: Body = rule.body
    return {
        "view": rule.view,
        "part": body.part,
        "where": body.where,
        "what": list(body.what),
        "when": body.when,
        "head": rule.head,
        "weight": rule.weight,
        "queries": rule.queries,
        "followed": rule.followed,
        "confidence": round(rule.confidence, 4),
        "lift": round(rule.lift, 3),
        "what_label": " -> ".join(body.labels(words)),
        "head_label": words.label(rule.head),
    }


def _csv(model: Model, rules: list[Rule], _: float) -> bytes:
    words = model.dataset.labels or PredicateTable()
    rows = [rule_json(rule, words) | {"what": " -> ".join(rule.body.what)} for rule in rules]
    names = ("view", "part", "where", "what", "when", "head", "weight", "queries", "followed")
    columns = (*names, "confidence", "lift", "what_label", "head_label")
    table = pa.table({name: [row[name] for row in rows] for name in columns})
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _text(model: Model, rules: list[Rule], least: float) -> bytes:
    lines = [f"{model.dataset.name}: {len(rules):,} rules with a weight of at least {least:g}"]
    words = model.dataset.labels or PredicateTable()
    before: tuple[str, str] = ("", "")
    for rule in rules:
        if before[0] != rule.view:
            lines += ["", f"== {rule.view} =="]
        if before != (rule.view, rule.head):
            lines += ["", words.shown(rule.head)]
        before = (rule.view, rule.head)
        support = f"{rule.followed:,} of {rule.queries:,}, {percent(rule.confidence)}"
        body = rule.body.words(words)
        lines.append(f"  {signed(rule.weight)}  {body}  ({support}, lift {rule.lift:.1f})")
    return ("\n".join(lines) + "\n").encode()
