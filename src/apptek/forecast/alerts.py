"""Alerts for a watch list, and changes since an earlier list."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.errors import ArgumentError, DataError
from apptek.forecast.forecaster import EventFilter, Forecaster, read_filter
from apptek.forecast.pair_chances import LEAST, Pair, PairChances
from apptek.present import watch_words as words
from apptek.results import DroppedPair, WatchList, to_dict

_RULE = re.compile(
    r"\s*(?:(chance|rise|fall)|(group|class|predicate)\s*:\s*(\S.*?))\s*>\s*(\d+(?:\.\d+)?)\s*%?\s*"
)


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A condition on a pair: the chance of certain events, or its rise or fall, exceeds a limit.

    limit  in percent, or in percentage points
    """

    text: str
    kind: str  # chance, rise or fall
    event: EventFilter
    limit: float

    def sentence(self, pair: tuple[str, str], value: float, chance: float) -> str:
        """Return an alert about a pair as a sentence."""
        return words.alert_sentence(self.kind, self.event.name, pair, value, chance, self.limit)


def parse_rule(text: str) -> tuple[str | None, str, str, str]:
    """Return a rule's type, level, name and limit. An ArgumentError explains the grammar."""
    found = _RULE.fullmatch(text)
    if found is None or float(found[4]) >= 100:
        raise ArgumentError(f"alert {text!r}: expected {words.GRAMMAR}")
    return found[1], found[2], found[3], found[4]


def read_rule(forecaster: Forecaster, text: str, usual: EventFilter) -> AlertRule:
    """Read a rule. In a rule, `chance`, `rise` and `fall` refer to the `usual` events.

    An ArgumentError explains the grammar. An UnknownPredicateError lists the known names.
    """
    kind, level, name, limit = parse_rule(text)
    if kind is not None:
        return AlertRule(text, kind, usual, float(limit))
    event = read_filter(forecaster, **{"class_" if level == "class" else level: name})
    return AlertRule(text, "chance", event, float(limit))


def raised(rule: AlertRule, chances: PairChances) -> list[tuple[int, float, float]]:
    """Return the rows that meet a rule, each with its value and chance, largest value first."""
    now, before = chances.of_any()
    most = before if rule.kind == "fall" else now  # upper bound: P(this event) <= P(any event)
    rows = np.flatnonzero(100 * most > rule.limit)
    now, before = chances.of_event(rule.event, rows)
    values = 100 * {"chance": now, "rise": now - before, "fall": before - now}[rule.kind]
    order = [place for place in np.argsort(-values, kind="stable") if values[place] > rule.limit]
    return [(int(rows[place]), float(values[place]), float(now[place])) for place in order]


def read_earlier(source: Any) -> Mapping[str, Any]:
    """Return the fields of an earlier list: a WatchList, or a JSON file that `watch` wrote."""
    if isinstance(source, WatchList):
        return dict(to_dict(source))
    try:
        content = json.loads(Path(source).read_text(encoding="utf-8"))
        for row in content["rows"]:
            _ = (row["subject"], row["object"], float(row["probability"]))
        return {"event": "", "first": "", "length": content["length"], **content}
    except OSError as error:
        raise DataError(f"{source}: {error.strerror or 'it cannot be read'}") from None
    except (ValueError, TypeError, KeyError):
        expected = "expected a watch list, as `apptek watch --out FILE.json` writes it"
        raise DataError(f"{source}: {expected}") from None


def compared(
    listed: WatchList,
    earlier: Mapping[str, Any],
    changed: Callable[[Sequence[Pair]], Collection[Pair]],
) -> WatchList:
    """Return the watch list with what changed in each row since an earlier list.

    changed  returns those of some pairs that the list would have if it were not cut
    DataError if the lists cover different events or windows of different lengths.
    """
    if (earlier["event"], earlier["length"]) != (listed.event, listed.length):
        raise DataError(words.other_list(listed, earlier))
    there = {frozenset((row["subject"], row["object"])): row for row in earlier["rows"]}
    absent, rows = "unlisted" if earlier.get("cut", True) else "new", []
    for row in listed.rows:
        before = there.get(frozenset((row.subject, row.object)))
        since = None if before is None else float(before["probability"])
        step = 0.0 if since is None else row.probability - since
        moved = "up" if step >= LEAST else "down" if step <= -LEAST else "same"
        rows.append(replace(row, status=absent if since is None else moved, since=since))
    here = {frozenset((row.subject, row.object)) for row in listed.rows}
    absent_pairs = [(r["subject"], r["object"]) for pair, r in there.items() if pair not in here]
    here |= {frozenset(pair) for pair in changed(absent_pairs)} if listed.cut else set()
    dropped = tuple(
        DroppedPair(row["subject"], row["object"], float(row["probability"]))
        for pair, row in there.items()
        if pair not in here
    )
    return replace(listed, rows=tuple(rows), since=str(earlier["first"]), dropped=dropped)
