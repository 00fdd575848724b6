"""The watch list: forecasts of many pairs, and how each differs from the window before."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.errors import DataError, UnknownName
from apptek.facts.name_matching import NameResolver
from apptek.forecast.forecaster import Forecaster, PairForecasts
from apptek.forecast.window import Window
from apptek.models.asked_queries import LeftOut, read_rows
from apptek.models.occurrence.counts import EVIDENCE
from apptek.models.occurrence.events import Meetings, pair_keys
from apptek.present.tables import PREDICATES
from apptek.reading.options import ReadOptions
from apptek.reading.sources import STANDARD_INPUT, located
from apptek.reading.streams import read_start, stem_and_suffix
from apptek.reading.text import (
    SAMPLE_BYTES,
    TEXT_FORMATS,
    find_delimiter,
    find_encoding,
    lines_of,
)
from apptek.results import Forecast, Note, OccurrenceReason, WatchList, WatchRow

PAST = 26  # windows before this one whose facts are counted

Pair = tuple[str, str]


def watch(forecaster: Forecaster, pairs: Sequence[Pair], window: Window) -> WatchList:
    """The forecasts of these pairs, in their order, each beside that of the window before."""
    _check_pairs(pairs, forecaster.answerer.entities)
    forecasts = forecaster.forecast(pairs, window, top=PREDICATES)
    subjects, objects = (forecaster.ids([pair[side] for pair in pairs]) for side in (0, 1))
    ends = np.stack([subjects, objects], axis=1)
    earlier = forecaster.pair_forecasts(ends.ravel(), ends[:, ::-1].ravel(), window.before())
    past = _past(forecaster, subjects, objects, window)
    notes = forecaster.notes(window)
    return WatchList(
        **forecaster.window_fields(window),
        data=forecaster.model.dataset.name,
        rows=tuple(
            _row(forecast, before, tuple(counts), notes)
            for forecast, before, counts in zip(
                forecasts, _earlier(forecaster, earlier), past.tolist(), strict=True
            )
        ),
        notes=notes,
    )


def either_chances(
    forecaster: Forecaster, subjects: Longs, objects: Longs, window: Window
) -> Doubles:
    """P(anything between the two of each pair), in either direction."""
    forward = forecaster.pair_forecasts(subjects, objects, window)
    backward = forecaster.pair_forecasts(objects, subjects, window)
    return forecaster.occurrence.either_way(forward.probabilities, backward.probabilities)


def most_changed(forecaster: Forecaster, window: Window, count: int) -> list[Pair]:
    """The pairs that had met whose chance of anything changes most, the largest change first."""
    events, names = forecaster.events, forecaster.model.dataset.entities
    keys = Meetings(events).before(window.before().moment)
    subjects, objects = keys // events.width - 1, keys % events.width - 1
    once = subjects < objects
    subjects, objects = subjects[once], objects[once]
    if not len(subjects):
        raise DataError("no two entities had met before the window: there is nothing to watch")
    now, before = (
        either_chances(forecaster, subjects, objects, part) for part in (window, window.before())
    )
    order = np.argsort(-np.abs(now - before), kind="stable")[:count]
    return [(names[int(subjects[row])], names[int(objects[row])]) for row in order]


def read_pairs(
    source: Path, entities: NameResolver, *, skip_bad: bool = False
) -> tuple[list[Pair], list[str]]:
    """The pairs of a file with the columns subject and object, and the rows that were left out.

    source    a file, or - for standard input
    entities  what names mean: "?", "*" and empty texts are none, unless the data has them
    skip_bad  leaves bad rows out; else DataError says what is wrong with the first
    """
    if str(source) == STANDARD_INPUT:
        with located(source) as found:
            (file,) = found.files["train"]
            return _read_pairs(file, entities, skip_bad=skip_bad)
    return _read_pairs(source, entities, skip_bad=skip_bad)


def _read_pairs(
    file: Path, entities: NameResolver, *, skip_bad: bool
) -> tuple[list[Pair], list[str]]:
    pairs, lines, left_out = list[Pair](), list[int](), list[str]()
    for line, row in read_rows(file, ("subject", "object"), _options(file)):
        cells = row if isinstance(row, str) else _pair_of(row, entities)
        if not isinstance(cells, str):
            pairs.append((cells[0], cells[1]))
            lines.append(line)
        elif skip_bad or isinstance(cells, LeftOut):
            left_out.append(f"{file.name}:{line}: {cells}")
        else:
            raise DataError(f"{file.name}:{line}: {cells}; --skip-bad leaves such rows out")
    if (
        lines[:1] == [1]
        and stem_and_suffix(file)[1] in TEXT_FORMATS
        and _has_header(pairs, entities)
    ):
        one, other = pairs.pop(0)
        left_out.insert(0, f"{file.name}:1: read {one!r} and {other!r}, unknown names, as a header")
    if not pairs:
        raise DataError(f"{file.name}: there are no pairs; expected a subject and an object a row")
    return pairs, left_out


def _has_header(pairs: list[Pair], entities: NameResolver) -> bool:
    """Return whether both names of the first row are unknown, and all others are known."""
    unknown = [[entities.find(name) is None for name in pair] for pair in pairs]
    return len(pairs) > 1 and all(unknown[0]) and not any(map(any, unknown[1:]))


def _pair_of(row: list[str], entities: NameResolver) -> list[str] | str:
    """Return the two names, or what is wrong with them."""
    try:
        entities.check(*row, allow_unknown=True)
    except UnknownName as error:
        return str(error).removesuffix(".")
    itself = f"{row[0]!r} and itself: a forecast is of two entities"
    return itself if row[0] == row[1] else row


def _check_pairs(pairs: Sequence[Pair], entities: NameResolver) -> None:
    if not len(pairs):
        raise DataError("there are no pairs to watch; expected some of a subject and an object")
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(n, str) for n in pair):
            raise DataError(f"found the pair {pair!r}, expected the names of two entities")
        entities.check(*pair, allow_unknown=True, where=f"pair {number}")


def _options(file: Path) -> ReadOptions:
    """How to read a file of pairs: two columns are enough to find its delimiter by."""
    usual = TEXT_FORMATS.get(stem_and_suffix(file)[1])
    if usual is None or not file.is_file():
        return ReadOptions()
    start = read_start(file, SAMPLE_BYTES)
    form = find_delimiter(lines_of(start, find_encoding(start)), usual, fewest=2)
    return ReadOptions() if form == usual else ReadOptions(delimiter=form.delimiter)


class _Earlier(NamedTuple):
    """What the forecast for the window before said of a pair: both directions.

    added  what each family added to the log-odds: (2, families)
    """

    probability: float
    have_met: Bools
    added: Doubles


def _earlier(forecaster: Forecaster, directed: PairForecasts) -> Iterator[_Earlier]:
    added, _ = forecaster.reasons(directed)
    chances = directed.probabilities
    for row, chance in enumerate(forecaster.occurrence.either_way(chances[::2], chances[1::2])):
        both = slice(2 * row, 2 * row + 2)
        yield _Earlier(float(chance), directed.met[both], added[both])


def _what_changed(forecast: Forecast, earlier: _Earlier) -> OccurrenceReason:
    """The reason that has moved the chance most since the earlier forecast, the way it went."""
    sign = 1 if forecast.probability >= earlier.probability else -1
    moved: list[tuple[float, OccurrenceReason]] = []
    for part, met, added in zip(forecast.directions, earlier.have_met, earlier.added, strict=True):
        for reason in part.reasons:
            if part.have_met != met:  # they met since: no number of before is like one of now
                moved.append((float(reason.family == "either"), reason))
            else:
                before = added[EVIDENCE.index(reason.family)]
                moved.append((sign * float(reason.log_odds - before), reason))
    return max(moved, key=lambda each: each[0])[1]


def _row(
    forecast: Forecast, earlier: _Earlier, past: tuple[int, ...], notes: tuple[Note, ...]
) -> WatchRow:
    return WatchRow(
        subject=forecast.subject,
        object=forecast.object,
        probability=forecast.probability,
        expected=forecast.expected,
        previous=earlier.probability,
        change=forecast.probability - earlier.probability,
        predicates=forecast.predicates,
        reason=_what_changed(forecast, earlier).sentence,
        past=past,
        unseen=forecast.unseen,
        notes=tuple(note for note in forecast.notes if note not in notes),
    )


def _past(forecaster: Forecaster, subjects: Longs, objects: Longs, window: Window) -> Longs:
    """The facts of each pair, in either direction, in each of the windows before: (n, PAST)."""
    start = window.moment - PAST * window.length
    part, width = forecaster.events.within(start, window.moment - 1), forecaster.events.width

    def keys(one: Longs, other: Longs) -> Longs:
        return pair_keys(np.minimum(one, other), np.maximum(one, other), width)

    distinct, rows = np.unique(keys(subjects, objects), return_inverse=True)
    of_events = keys(part.subjects, part.objects)
    places = np.minimum(np.searchsorted(distinct, of_events), len(distinct) - 1)
    kept = distinct[places] == of_events
    columns = (part.times[kept].astype(np.int64) - start) // window.length
    counts = np.zeros((len(distinct), PAST), np.int64)
    np.add.at(counts, (places[kept], columns), 1)
    return counts[rows]
