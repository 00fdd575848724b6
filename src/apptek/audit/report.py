"""An audit as a table of all facts, and as a report on the least plausible ones."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Ints
from apptek.audit.audit import FINDINGS, PRIOR, Audit
from apptek.databases import Database
from apptek.explain.explainer import explain
from apptek.facts.facts import Defect, Names
from apptek.facts.predicate_table import PredicateTable
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.models.answerer import Answerer
from apptek.present import audit_words as words
from apptek.present.audit_words import left_out_reason
from apptek.present.tables import TABLES, write_result
from apptek.present.wording import when_text
from apptek.results import AuditReport, Query, SuspectFact, to_dict

EXPLAINED = 1000  # default number of facts with reasons
PAGE = 1000  # maximum number of facts on an HTML page
REASONS = 3  # number of reasons in a sentence


def audit_table(
    audit: Audit, explained: int = EXPLAINED, left_out: Sequence[Defect] = ()
) -> pa.Table:
    """Return one row per fact, least plausible first. The columns match SuspectFact.

    The first `explained` facts get reasons. Rows that were left out because they end before they
    start come first. No model judged them, so they have no probabilities.
    """
    data, facts = audit.judge.model.dataset, audit.judge.model.graph.facts
    judged, odds, order = audit.judgements, audit.odds, audit.order
    words = data.labels or PredicateTable()
    labels = pa.array([words.label(name) for name in data.predicates], pa.string())
    reasons = Reasons(audit) if explained else None
    texts = [reasons.of(int(fact)) for fact in order[:explained]] if reasons else []
    table = pa.table(
        {
            "subject": _names(data.entities, facts.subjects[order]),
            "predicate": _names(data.predicates, facts.predicates[order]),
            "object": _names(data.entities, facts.objects[order]),
            "since": _times(data.axis, facts.since[order]),
            "until": _times(data.axis, facts.until[order]),
            "label": labels.take(pa.array(facts.predicates[order])),
            "finding": pa.array(FINDINGS).take(pa.array(audit.findings[order])),
            "suspicion": np.exp(-np.logaddexp(0.0, -odds[order])),
            "log_odds": odds[order],
            "probability": judged.probabilities[order],
            "expected": _names(data.predicates, judged.expected[order]),
            "expected_label": labels.take(pa.array(judged.expected[order])),
            "expected_probability": judged.expected_probabilities[order],
            "reason": pa.array([*texts, *[""] * (len(order) - len(texts))], pa.string()),
        }
    )
    impossible = [_impossible_row(defect, words) for defect in left_out if defect.fact]
    return pa.concat_tables([pa.Table.from_pylist(impossible, table.schema), table])


def suspects_of(table: pa.Table, count: int) -> tuple[SuspectFact, ...]:
    """Return the first rows of a table of facts."""
    return tuple(SuspectFact(**row) for row in to_dict(table.slice(0, count).to_pylist()))


def audit_report(audit: Audit, table: pa.Table, count: int, bad_rows: int = 0) -> AuditReport:
    """Return the numbers of judged and suspected facts, and the first `count` rows of the table."""
    listed = table.num_rows - len(audit.judgements)
    suspected = np.bincount(audit.findings[audit.odds > 0], minlength=len(FINDINGS)).tolist()
    by_finding = dict(zip(FINDINGS, suspected, strict=True))
    by_finding["interval"] += listed
    if audit.judge.model.graph.predicate_count == 1:
        del by_finding["predicate"]  # only facts that look wrong are listed
        count = min(count, sum(by_finding.values()))
    return AuditReport(
        dataset=audit.judge.model.dataset.name,
        facts=len(audit.judgements),
        models=len(audit.judge.views),
        prior=PRIOR,
        suspected=by_finding,
        bad_rows=bad_rows,
        bad_rows_listed=listed,
        suspects=suspects_of(table, count),
    )


def write_audit(path: Path | Database, report: AuditReport, table: pa.Table) -> None:
    """Write all facts in the table; an HTML page contains only the first ones."""
    if isinstance(path, Database) or path.suffix.lower() in TABLES:
        write_result(path, table, "audit")
        return
    count = PAGE if path.suffix.lower() == ".html" else table.num_rows
    write_result(path, replace(report, suspects=suspects_of(table, count)))


def _impossible_row(defect: Defect, words: PredicateTable) -> dict[str, Any]:
    """Return a row that was not read as a fact because its dates contradict each other."""
    row = dict(zip(("subject", "predicate", "object", "since", "until"), defect.fact, strict=True))
    row["label"] = words.label(row["predicate"])
    reason = left_out_reason(defect.line, defect.file)
    return row | {"finding": "interval", "suspicion": 1.0, "log_odds": np.inf, "reason": reason}


def _names(names: Names, ids: Ints) -> pa.Array:
    return names.array.take(pa.array(ids))


def _times(axis: TimeAxis, codes: Ints) -> pa.Array:
    """Return times as text, formatting each distinct time once."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    texts = pa.array([axis.format(int(code)) for code in distinct], pa.string())
    return texts.take(pa.array(inverse))


class Reasons:
    """Writes the reasons in an audit; parts that explanations share are built once."""

    def __init__(self, audit: Audit) -> None:
        self.audit, self._findings, self._answerers = audit, audit.findings, audit.judge.answerers()
        self.data, self.facts = audit.judge.model.dataset, audit.judge.model.graph.facts

    def of(self, fact: int) -> str:
        """Return why this fact looks wrong, depending on its finding."""
        finding = FINDINGS[int(self._findings[fact])]
        if finding == "interval":
            partner = int(self.audit.partners[fact])
            return words.interval_reason(
                self._dates(fact), None if partner == fact else self._dates(partner)
            )
        return self._of_direction(fact) if finding == "direction" else self._of_predicate(fact)

    def _names(self, fact: int) -> tuple[str, str, str]:
        subject, predicate, object_, *_ = (int(column[fact]) for column in self.facts.columns())
        names = self.data.entities
        return names[subject], self.data.predicates[predicate], names[object_]

    def _dates(self, fact: int) -> str:
        ends = (self.facts.since, self.facts.until)
        return when_text(*(self.data.axis.format(int(codes[fact])) for codes in ends))

    def _of_direction(self, fact: int) -> str:
        audit, (subject, own, object_) = self.audit, self._names(fact)
        predicate = self._answerer(fact).labels.label(own)
        roles, facts = audit.roles, self.facts
        does = (int(roles.subject_does[fact]), int(roles.object_does[fact]))
        gets = (int(roles.object_gets[fact]), int(roles.subject_gets[fact]))
        usual_is_as_written = does[0] + gets[0] >= does[1] + gets[1]
        if usual_is_as_written and audit.judgements.leanings[fact] < 0:
            dated = not (facts.since[fact] == facts.until[fact] == UNKNOWN)
            return words.leaning_reason(predicate, subject, object_, dated=dated)
        return words.roles_reason(predicate, (subject, object_), does, gets)

    def _of_predicate(self, fact: int) -> str:
        subject, own, object_ = self._names(fact)
        expected = self.data.predicates[int(self.audit.judgements.expected[fact])]
        time = self.data.axis.format(int(self.facts.times[fact]))
        against = None if own == expected else own
        why = explain(
            self._answerer(fact), Query(subject, object_, time), expected,
            against=against, most=0, hidden=fact,
        )  # fmt: skip
        speaking = [part.sentence for part in why.contributions() if part.log_odds > 0]
        return words.predicate_reason(why.label, speaking[:REASONS])

    def _answerer(self, fact: int) -> Answerer:
        return self._answerers[int(self.audit.judge.fold_of[fact])]
