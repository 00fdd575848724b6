"""The pairs to watch: read from a file or a database, or those whose chances change most.

Alerts find pairs that meet a rule. An earlier list shows what has changed since.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.databases import Database
from apptek.errors import ApptekError, ArgumentError, DataError
from apptek.facts.name_matching import NameResolver
from apptek.forecast.forecaster import EventFilter, Forecaster, PairForecasts, read_filter
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window
from apptek.models.asked_queries import good_rows_of
from apptek.models.occurrence.pair_counts import Meetings
from apptek.present import watch_words as words
from apptek.reading.options import ReadOptions
from apptek.reading.sources import STANDARD_INPUT, located
from apptek.results import DroppedPair, WatchList, to_dict

LEAST = 0.01  # the smallest change to list, unless the user names the pairs
CHUNK = 2000  # number of pairs whose predicates are scored at once
Pair = tuple[str, str]


def read_pairs(
    source: Path | Database, entities: NameResolver, *, skip_bad: bool = False, sql: str = ""
) -> tuple[list[Pair], list[str]]:
    """Read the pairs in the columns subject and object. Also return the rows that were left out.

    source    a file, - for standard input, or a database with a table or a query
    entities  resolves names; "?", "*" and empty texts count as missing, unless the data has them
    skip_bad  skip bad rows; otherwise DataError describes the first bad row
    """
    if isinstance(source, Path) and str(source) == STANDARD_INPUT:
        with located(source) as found:
            (file,) = found.files["train"]
            return _read_pairs(file, entities, ReadOptions(skip_bad=skip_bad))
    if isinstance(source, Path) and sql:
        raise DataError(f"{source.name}: --sql does not apply to this kind of source")
    return _read_pairs(source, entities, ReadOptions(skip_bad=skip_bad, sql=sql))


def _read_pairs(
    file: Path | Database, entities: NameResolver, options: ReadOptions
) -> tuple[list[Pair], list[str]]:
    def check(row: list[str]) -> None:
        entities.check(*row, allow_unknown=True)
        if row[0] == row[1]:
            raise ApptekError(f"{row[0]!r} twice: a forecast needs two different entities")

    left_out, advice = list[str](), "; use --skip-bad to skip such rows"
    rows = good_rows_of(file, ("subject", "object"), options, check, left_out, advice)
    if not (pairs := [(subject, object_) for subject, object_ in rows]):
        raise DataError(
            f"{file.name}: there are no pairs; expected a subject and an object in each row"
        )
    return pairs, left_out


@dataclass(frozen=True, slots=True)
class PairChances:
    """Forecasts for n pairs, (n, 2), in both directions, in a window and in the previous one."""

    now: PairForecasts
    before: PairForecasts

    @classmethod
    def of(cls, forecaster: Forecaster, ids: Longs, window: Window) -> "PairChances":
        """Forecast each pair."""
        now, before = (forecaster.both_ways(ids, each) for each in (window, window.before()))
        return cls(now, before)

    def of_any(self) -> tuple[Doubles, Doubles]:
        """Return P(an event in either direction) in the window and in the previous one.

        Both are arrays of shape (n,).
        """
        either_way = self.now.forecaster.either_way
        return either_way(self.now.probabilities), either_way(self.before.probabilities)

    def of_event(self, event: EventFilter, rows: Longs) -> tuple[Doubles, Doubles]:
        """Return P(an event that counts) for some rows, in the window and in the previous one."""
        if not event.name:
            now, before = self.of_any()
            return now[rows], before[rows]
        return self._of_event(event, self.now, rows), self._of_event(event, self.before, rows)

    def _of_event(self, event: EventFilter, made: PairForecasts, rows: Longs) -> Doubles:
        parts = [np.zeros(0)]
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            both = made.take(np.concatenate([part, part + len(made.pairs) // 2]))
            parts.append(made.forecaster.either_way(event.chances(both)))
        return np.concatenate(parts)

    def most_changed(self, event: EventFilter, count: int) -> Longs:
        """Return the pairs whose chance of an event that counts changes most, if by at least LEAST.

        A particular event is never more probable than any event. Therefore, rows that are too
        improbable to exceed the changes found so far are skipped.
        """
        most = np.maximum(*self.of_any())
        order = np.argsort(-most, kind="stable")
        order = order[most[order] >= LEAST]
        rows, changes = np.zeros(0, np.int64), np.zeros(0)
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            if len(changes) >= count and changes[count - 1] >= most[part[0]]:
                break
            now, before = self.of_event(event, part)
            rows, changes = np.append(rows, part), np.append(changes, np.abs(now - before))
            best = np.lexsort((rows, -changes))
            rows, changes = rows[best], changes[best]
        return rows[changes >= LEAST][:count]


def seen_pairs(forecaster: Forecaster, moment: int) -> Longs:
    """Return the distinct pairs that have a fact before a given time: (n, 2)."""
    keys, width = Meetings(forecaster.events).before(moment), forecaster.events.width
    ids = np.stack([keys // width - 1, keys % width - 1], axis=1)
    return ids[ids[:, 0] < ids[:, 1]]  # the keys contain each pair in both directions


def watched_entities(
    forecaster: Forecaster, entities: Sequence[str], countries: Sequence[str]
) -> Bools | None:
    """Return which entities the user watches, by name or by country. None means all.

    Raises UnknownName or DataError if a name does not match any entity.
    """
    if not entities and not countries:
        return None
    answerer, names = forecaster.answerer, forecaster.model.dataset.entities
    answerer.entities.check(*entities)
    chosen = np.zeros(len(names), np.bool_)
    chosen[[answerer.entity_id(name) for name in entities]] = True
    for country in countries:
        members = members_of(answerer, country)
        if not members:
            raise DataError(
                f"no entity is from the country {country!r}; expected a name in brackets, "
                "as in 'Police (India)'"
            )
        chosen[members] = True
    return chosen


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
    """Return a rule's type, level, name and limit. An ArgumentError explains valid rules."""
    found = _RULE.fullmatch(text)
    if found is None or float(found[4]) >= 100:
        raise ArgumentError(f"alert {text!r}: expected {words.GRAMMAR}")
    return found[1], found[2], found[3], found[4]


def read_rule(forecaster: Forecaster, text: str, usual: EventFilter) -> AlertRule:
    """Read a rule. In a rule, `chance`, `rise` and `fall` refer to the `usual` events.

    If the rule is invalid, an ArgumentError explains the grammar. An UnknownPredicateError lists
    the known names.
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

    changed  a function that returns which of some pairs an uncut list would contain

    Raises DataError if the lists cover different events or windows of different lengths.
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
