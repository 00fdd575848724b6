"""An audit as a table, in a file of a kind that its ending says."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from apptek.arrays import Doubles, Ints, Longs
from apptek.audit.audit import PRIOR, Audit
from apptek.audit.html import audit_html
from apptek.audit.why import Reasons
from apptek.data.facts import Defect, Names
from apptek.data.predicate_table import PredicateTable
from apptek.data.times import TimeAxis
from apptek.errors import DataError
from apptek.files import check_target, new_file, writing
from apptek.present.xlsx import write_xlsx
from apptek.safe_text import without_formulas

ENDINGS = (".html", ".csv", ".parquet", ".xlsx", ".json")
EXPLAINED = 1000  # facts that get a reason, unless said otherwise
PAGE = 1000  # facts on a page of HTML, at most


def check_audit_file(path: Path) -> None:
    """ApptekError where an audit cannot be written there; to be asked before long work."""
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: unknown kind of file; expected {', '.join(ENDINGS)}")
    check_target(path)


def audit_table(
    audit: Audit, explained: int = EXPLAINED, left_out: Sequence[Defect] = ()
) -> pa.Table:
    """A row for each fact, the least plausible first; reasons for the first `explained` ones.

    Rows that were left out because they end before they start come first of all. No model was asked
    about them, so that they have no probabilities.

    | column               |                                                                 |
    |----------------------|-----------------------------------------------------------------|
    | subject ... until    | the fact; since and until are the same for a point in time      |
    | label                | how to show the predicate; likewise `expected_label`            |
    | finding              | what is most likely wrong: predicate, direction, interval       |
    | suspicion            | the probability of that, if one in a hundred facts is wrong     |
    | log_odds             | the same as log-odds, by which the rows are ordered             |
    | probability, rank    | of its own predicate, with the fact itself hidden               |
    | expected             | the most probable predicate, and its probability                |
    | direction_log_odds   | that subject and object are exchanged                           |
    | reason               | why it looks wrong                                              |
    """
    judged = table_of_facts(audit, audit.order, explained)
    words = audit.judge.model.dataset.labels or PredicateTable()
    impossible = [_impossible_row(defect, words) for defect in left_out if defect.fact]
    return pa.concat_tables([pa.Table.from_pylist(impossible, judged.schema), judged])


def table_of_facts(audit: Audit, order: Longs, explained: int) -> pa.Table:
    """The rows of these facts, with reasons for the first `explained` ones."""
    data, facts = audit.judge.model.dataset, audit.judge.model.graph.facts
    judged, odds = audit.judgements, audit.odds
    words = data.labels or PredicateTable()
    labels = pa.array([words.label(name) for name in data.predicates], pa.string())
    reasons = Reasons(audit) if explained else None
    texts = [reasons.of(int(fact)) for fact in order[:explained]] if reasons else []
    findings = pa.array(["predicate", "direction", "interval"])
    kinds = np.where(audit.direction_odds > audit.predicate_odds, 1, 0)
    kinds[audit.partners >= 0] = 2
    return pa.table(
        {
            "subject": _names(data.entities, facts.subjects[order]),
            "predicate": _names(data.predicates, facts.predicates[order]),
            "object": _names(data.entities, facts.objects[order]),
            "since": _times(data.axis, facts.since[order]),
            "until": _times(data.axis, facts.until[order]),
            "label": labels.take(pa.array(facts.predicates[order])),
            "finding": findings.take(pa.array(kinds[order])),
            "suspicion": _probabilities(odds[order]),
            "log_odds": odds[order],
            "probability": judged.probabilities[order],
            "rank": judged.ranks[order],
            "expected": _names(data.predicates, judged.expected[order]),
            "expected_label": labels.take(pa.array(judged.expected[order])),
            "expected_probability": judged.expected_probabilities[order],
            "direction_log_odds": audit.direction_odds[order],
            "reason": pa.array([*texts, *[""] * (len(order) - len(texts))], pa.string()),
        }
    )


def _impossible_row(defect: Defect, words: PredicateTable) -> dict[str, Any]:
    """A row that could not be read as a fact, for its dates contradict each other."""
    row = dict(zip(("subject", "predicate", "object", "since", "until"), defect.fact, strict=True))
    reason = f"it ends before it starts; line {defect.line} of {Path(defect.file).name}, left out"
    row["label"] = words.label(row["predicate"])
    return row | {"finding": "interval", "suspicion": 1.0, "log_odds": np.inf, "reason": reason}


def _names(names: Names, ids: Ints) -> pa.Array:
    return names.array.take(pa.array(ids))


def _times(axis: TimeAxis, codes: Ints) -> pa.Array:
    """The texts of times: each distinct one is written once."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    texts = pa.array([axis.format(int(code)) for code in distinct], pa.string())
    return texts.take(pa.array(inverse))


def _probabilities(odds: Doubles) -> Doubles:
    probabilities: Doubles = np.exp(-np.logaddexp(0.0, -odds))
    return probabilities


def audit_summary(
    audit: Audit, table: pa.Table, bad_rows: int = 0, listed: int = 0
) -> dict[str, Any]:
    """How many facts were judged and how many are suspected, ready for JSON."""
    suspected: Longs = np.flatnonzero(audit.odds > 0)
    found = [audit.finding(int(fact)) for fact in suspected]
    data, count = audit.judge.model.dataset, len(audit.judgements)
    found += ["interval"] * (table.num_rows - count)  # those that were left out
    return {
        "dataset": data.name,
        "facts": count,
        "models": len(audit.judge.views),
        "prior": PRIOR,
        "suspected": {kind: found.count(kind) for kind in ("predicate", "direction", "interval")},
        "bad_rows": bad_rows,
        "bad_rows_listed": listed,
    }


def write_audit(
    summary: dict[str, Any], table: pa.Table, path: Path, labels: PredicateTable | None = None
) -> None:
    """Writes an audit, whole or not at all; a page of HTML has its first rows only, with labels."""
    writers: dict[str, Callable[[Path], None]] = {
        ".csv": lambda file: csv.write_csv(without_formulas(table), file),
        ".parquet": lambda file: parquet.write_table(table, file),
        ".xlsx": lambda file: write_xlsx(table, file, "audit"),
        ".html": lambda file: _write_text(file, audit_html(summary, table.slice(0, PAGE), labels)),
        ".json": lambda file: _write_text(file, audit_json(summary, table)),
    }
    with new_file(path) as temporary, writing(path):
        writers[path.suffix.lower()](temporary)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def audit_json(summary: dict[str, Any], table: pa.Table) -> str:
    """One JSON object: the summary, and the rows of the table under `findings`."""
    content = summary | {"findings": plain_rows(table)}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows for JSON, which knows no infinite number: null stands for it."""
    return [
        {name: None if value in (np.inf, -np.inf) else value for name, value in row.items()}
        for row in table.to_pylist()
    ]
