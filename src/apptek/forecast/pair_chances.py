"""The pairs to watch: read from a file or a database, or those whose chances change most."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.databases import Database
from apptek.errors import DataError, UnknownName
from apptek.facts.name_matching import NameResolver
from apptek.forecast.forecaster import EventFilter, Forecaster, PairForecasts
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window
from apptek.models.asked_queries import LeftOut, read_rows
from apptek.models.occurrence.pair_counts import Meetings, Pairs
from apptek.reading.options import ReadOptions
from apptek.reading.sources import STANDARD_INPUT, located

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
            return _read_pairs(file, entities, ReadOptions(), skip_bad=skip_bad)
    if isinstance(source, Path) and sql:
        raise DataError(f"{source.name}: --sql does not apply to this kind of source")
    return _read_pairs(source, entities, ReadOptions(sql=sql), skip_bad=skip_bad)


def _read_pairs(
    file: Path | Database, entities: NameResolver, options: ReadOptions, *, skip_bad: bool
) -> tuple[list[Pair], list[str]]:
    pairs, left_out = list[Pair](), list[str]()
    for line, row in read_rows(file, ("subject", "object"), options):
        cells = row if isinstance(row, str) else _pair_of(row, entities)
        if not isinstance(cells, str):
            pairs.append((cells[0], cells[1]))
        elif skip_bad or isinstance(cells, LeftOut):
            left_out.append(f"{file.name}:{line}: {cells}")
        else:
            raise DataError(f"{file.name}:{line}: {cells}; use --skip-bad to skip such rows")
    if not pairs:
        raise DataError(
            f"{file.name}: there are no pairs; expected a subject and an object in each row"
        )
    return pairs, left_out


def _pair_of(row: list[str], entities: NameResolver) -> list[str] | str:
    """Return both names, or a message that describes what is wrong with them."""
    try:
        entities.check(*row, allow_unknown=True)
    except UnknownName as error:
        return str(error).removesuffix(".")
    itself = f"{row[0]!r} twice: a forecast needs two different entities"
    return itself if row[0] == row[1] else row


@dataclass(frozen=True, slots=True)
class PairChances:
    """Forecasts for n pairs, (n, 2), in both directions, in a window and in the previous one."""

    forecaster: Forecaster
    ids: Longs
    now: PairForecasts
    before: PairForecasts

    @classmethod
    def of(cls, forecaster: Forecaster, ids: Longs, window: Window) -> "PairChances":
        """Forecast each pair."""
        now, before = (forecaster.both_ways(ids, each) for each in (window, window.before()))
        return cls(forecaster, ids, now, before)

    def of_any(self) -> tuple[Doubles, Doubles]:
        """Return P(an event in either direction) in the window and in the previous one.

        Both are arrays of shape (n,).
        """
        either_way = self.forecaster.either_way
        return either_way(self.now.probabilities), either_way(self.before.probabilities)

    def of_event(self, event: EventFilter, rows: Longs) -> tuple[Doubles, Doubles]:
        """Return P(an event that counts) for some rows, in the window and in the previous one."""
        if not event.name:
            now, before = self.of_any()
            return now[rows], before[rows]
        return self._of_event(event, self.now, rows), self._of_event(event, self.before, rows)

    def _of_event(self, event: EventFilter, made: PairForecasts, rows: Longs) -> Doubles:
        parts, both = [np.zeros(0)], np.concatenate([self.ids, self.ids[:, ::-1]])
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            part = np.concatenate([part, part + len(self.ids)])
            pairs = Pairs(both[part, 0], both[part, 1], made.pairs.times[part])
            shares, chances = self.forecaster.shares(pairs), made.chances.take(part)
            of_event = event.chances(self.forecaster, chances, shares)
            parts.append(self.forecaster.either_way(of_event))
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
