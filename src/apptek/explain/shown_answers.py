"""Answers as people look at them: as text, as a frame, and in a notebook with their reasons."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from apptek.data.frames import FrameKind, frame_of
from apptek.data.predicate_table import labelled
from apptek.explain.explanation import Explanation
from apptek.explain.html_report import answers_fragment, explanation_fragment
from apptek.explain.text import query_notes
from apptek.models.answers import Answer, Query
from apptek.models.batch_files import answer_table
from apptek.present.wording import (
    general_notes,
    is_undated,
    percent,
    presumed,
    recorded_words,
    share_lines,
    shown_time,
)
from apptek.safe_text import counted, printable

SHOWN = 10  # answers that are written out; predicates of each in a notebook
BAR = 30  # characters of a bar for a probability of 1
FAR = "The time is far from all facts, so the probabilities are not calibrated."
Explain = Callable[[Query], Explanation]


class ShownAnswer(Answer):
    """An Answer that shows itself; in a notebook with its reasons, where the model has such."""

    __slots__ = ("_explain",)

    @classmethod
    def of(cls, answer: Answer, explain: Explain | None) -> "ShownAnswer":
        """The answer; `explain` gives its reasons when they are looked at."""
        shown = cls(*(getattr(answer, field.name) for field in fields(answer)))
        object.__setattr__(shown, "_explain", explain)
        return shown

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each predicate; see Answers.to_frame."""
        return Answers([self]).to_frame(kind)

    def __repr__(self) -> str:
        query = self.query
        names = map(labelled, self.predicates, self.labels)
        ranked = list(zip(names, self.probabilities, strict=True))
        width = max((len(name) for name, _ in ranked), default=0)
        rows = [
            f"{percent(share):>8}  {printable(name):<{width}}  {'█' * round(share * BAR)}".rstrip()
            for name, share in ranked
        ]
        title = f"{query.subject} | ? | {query.object} | {shown_time(query.time)}"
        general = general_notes(*self.unknown_names)
        first = [printable(words) for words in (*general, title, recorded(self)) if words]
        return "\n".join([*first, *rows, *answer_notes(self)])

    def _repr_html_(self) -> str:
        explain = getattr(self, "_explain", None)  # a copy has lost it
        if explain is None:
            return answers_fragment([self], SHOWN)
        return explanation_fragment(explain(self.query))


class Answers(list[ShownAnswer]):
    """The answers to some queries, in their order: a list that shows itself."""

    @classmethod
    def of(cls, answers: Iterable[Answer], explain: Explain | None = None) -> "Answers":
        """The answers; `explain` gives the reasons of one when they are looked at."""
        return cls(ShownAnswer.of(answer, explain) for answer in answers)

    @property
    def unknown_count(self) -> int:
        """How many answers are general ones: a name of their query is not in the data."""
        return sum(bool(answer.unknown_names) for answer in self)

    @property
    def far_count(self) -> int:
        """How many answers are about a time that is far from all facts."""
        return sum(answer.far_time for answer in self)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame with a row for each predicate of each query, numbered by `query` from 1.

        kind  pandas, polars or arrow (a pyarrow.Table); by default the first that is installed
        """
        return frame_of(answer_table(self), kind)

    def __repr__(self) -> str:
        texts = [repr(answer) for answer in self[:SHOWN]]
        if len(self) > SHOWN:
            texts.append(f"... and {counted(len(self) - SHOWN, 'more answer')}")
        if len(self) > 1 and self.unknown_count:
            texts.append(f"{self.unknown_count:,} of {len(self):,} answers are general answers.")
        if len(self) > 1 and self.far_count:
            texts.append(f"{self.far_count:,} of {len(self):,} answers: {FAR}")
        return "\n\n".join(texts) or "no answers"

    def _repr_html_(self) -> str:
        return self[0]._repr_html_() if len(self) == 1 else answers_fragment(self, SHOWN)


def recorded(answer: Answer) -> str:
    """The predicates that the facts hold for a query, in words; empty where there are none."""
    labels = dict(zip(answer.predicates, answer.labels, strict=True))
    return recorded_words([labelled(name, labels.get(name, "")) for name in answer.known])


def answer_notes(answer: Answer) -> list[str]:
    """How its probabilities add up by class, and what is unusual about the query, in words."""
    notes = query_notes(answer)
    undated = is_undated(answer.query.time)
    if answer.view == "ahead" and not undated:
        notes.append(f"Answered ahead, from what was known before {answer.query.time}.")
    elif answer.view == "within" and undated:
        notes.append("Answered within the data, from all facts, whatever their time.")
    elif answer.view == "within":
        notes.append("Answered within the data, from facts before and after.")
    notes += [note for note in (answer.age_note, FAR * answer.far_time) if note]
    condition = presumed(answer.query.time)
    return [*share_lines(answer.by_class, answer.by_group), condition, *notes]
