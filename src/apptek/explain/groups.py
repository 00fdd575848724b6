"""Small reasons gathered under titles that people can name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apptek.config import View
from apptek.explain.sentences import Ends

# {s}: the subject, {o}: the object, {before}: where a view may look.
TITLES = {
    "between": "what else {s} and {o} did to each other",
    "long_past": "what happened between the two long {before}",
    "subject": "what {s} and others did to each other",
    "object": "what {o} and others did to each other",
    "usual": "what is usual for {s} and for {o}",
    "types": "what kind of actors they are and whom they deal with",
    "question": "whether the question has a date",
    "connections": "how the two are connected through others",
    "such_actors": "what actors like {s} and {o} do to each other (a statistic, no facts)",
    "trees": "how the evidence combines (learned by trees; no single fact)",
}
OF_TREES = ("such_actors", "trees")  # groups that are no sums of small reasons
USUAL = {"subject": "what is usual for {s}", "object": "what is usual for {o}"}


class Adding(Protocol):
    """What has a group and adds to the log-odds and to the score."""

    @property
    def family(self) -> str: ...  # noqa: D102

    @property
    def group(self) -> str: ...  # noqa: D102

    @property
    def log_odds(self) -> float: ...  # noqa: D102

    @property
    def score(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Reasons of one sort, summed up.

    members  their indices among the `further` contributions, the weightiest first
    """

    name: str
    title: str
    log_odds: float
    score: float
    members: tuple[int, ...]


def group_all(further: Sequence[Adding], ends: Ends, view: View) -> tuple[Group, ...]:
    """The groups of contributions, the weightiest group first."""
    before = "before" if view == "ahead" else "before or after"
    members: dict[str, list[int]] = {name: [] for name in TITLES}
    for index, part in enumerate(further):
        members[part.group].append(index)
    groups = [
        Group(
            name=name,
            title=_title(name, {further[i].family for i in indices}).format(
                s=ends.subject, o=ends.object, before=before
            ),
            log_odds=sum(further[i].log_odds for i in indices),
            score=sum(further[i].score for i in indices),
            members=tuple(sorted(indices, key=lambda i: -abs(further[i].log_odds))),
        )
        for name, indices in members.items()
        if indices
    ]
    return tuple(sorted(groups, key=lambda group: -abs(group.log_odds)))


def _title(name: str, families: set[str]) -> str:
    """The title of a group; nothing is usual for an unknown name, so that it is not named."""
    (family, *others) = sorted(families)
    return USUAL.get(family, TITLES[name]) if name == "usual" and not others else TITLES[name]
