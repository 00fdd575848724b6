"""Small reasons gathered under titles that people can name."""

from collections.abc import Sequence

from apptek.config import View
from apptek.present.sentences import TITLES, Ends, group_title
from apptek.results import Contribution, Group


def group_all(further: Sequence[Contribution], ends: Ends, view: View) -> tuple[Group, ...]:
    """Return the groups of contributions, the one with the largest effect first."""
    members: dict[str, list[int]] = {name: [] for name in TITLES}
    for index, part in enumerate(further):
        members[part.group].append(index)
    groups = [
        Group(
            name=name,
            title=group_title(name, {further[i].family for i in indices}, ends, view),
            log_odds=sum(further[i].log_odds for i in indices),
            score=sum(further[i].score for i in indices),
            members=tuple(sorted(indices, key=lambda i: -abs(further[i].log_odds))),
        )
        for name, indices in members.items()
        if indices
    ]
    return tuple(sorted(groups, key=lambda group: -abs(group.log_odds)))
