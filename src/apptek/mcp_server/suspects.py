"""The least plausible facts of a served model, at a cost that does not grow with its data."""

from threading import Lock
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from apptek.arrays import AnyInts, Longs
from apptek.audit.audit import MOST_JUDGED, Audit, audit_facts, spread_evenly
from apptek.audit.judge import Judge
from apptek.audit.report import table_of_facts
from apptek.mcp_server.results import AuditResult, FactOut, SuspectFact
from apptek.present.wording import when_text
from apptek.service.schemas.requests import Name
from apptek.service.served_model import ServedModel
from apptek.service.timelines import facts_of


class Suspects:
    """The audit of a served model, made when it is first asked for and then kept.

    Of more facts than `most`, so many are judged, evenly spread over the data; where an entity is
    named, half as many, and of its own facts at most the other half.
    """

    def __init__(self, served: ServedModel, most: int = MOST_JUDGED) -> None:
        self._served, self._most = served, most
        self._judge = Judge.of_model(served.predictor.model)
        self._lock = Lock()
        self._kept: tuple[Audit, Longs] | None = None

    def audit(
        self,
        entity: Annotated[Name | None, Field(description="Only facts of this entity.")] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> AuditResult:
        """Which recorded facts look wrong? The least plausible ones, each with a reason.

        Each fact is asked about with itself hidden: a predicate that hardly fits, subject and
        object that seem exchanged, dates that cannot be. A fact on this list is unusual, which is
        not the same as wrong: somebody has to look at it.
        """
        graph = self._judge.model.graph
        of_entity = None
        if entity is not None:
            of_entity = facts_of(graph, self._served.entity(entity, "entity"))
        audit, judged = self._audit(of_entity)
        order = audit.order[: len(judged)]
        if of_entity is not None:
            judged = np.intersect1d(judged, of_entity)
            order = order[np.isin(order, of_entity)]
        table = table_of_facts(audit, order[:limit], limit)
        return AuditResult(
            facts=len(graph.facts),
            judged=len(judged),
            suspects=[_suspect(row) for row in table.to_pylist()],
        )

    def _audit(self, of_entity: AnyInts | None) -> tuple[Audit, Longs]:
        """The audit, and the facts that it judges."""
        every = np.arange(len(self._judge.model.graph.facts))
        if of_entity is not None and len(every) > self._most:
            half = self._most // 2
            judged = np.union1d(spread_evenly(every, half), spread_evenly(of_entity, half))
            return audit_facts(self._judge, judged), judged
        with self._lock:
            if self._kept is None:
                judged = spread_evenly(every, self._most)
                self._kept = audit_facts(self._judge, judged), judged
            return self._kept


def _suspect(row: dict[str, Any]) -> SuspectFact:
    date = when_text(row["since"], row["until"])
    ends = {name: row[name] for name in ("subject", "predicate", "object")}
    return SuspectFact.model_validate(row | {"fact": FactOut(**ends, date=date)})
