"""Watch lists in words: the meaning of columns, alerts, and changes since an earlier list."""

from collections.abc import Mapping, Sequence
from typing import Any

from apptek.present.wording import count_text, listed, percent, period_text, points, shown_time
from apptek.results import Explanation, WatchList, WatchRow
from apptek.safe_text import counted, printable

COLUMNS = ("pair, most probable event and what changed", "chance", "change")
BARS = "·▁▂▃▄▅▆▇█"  # the number of facts in a window; a dot means none
SINCE = "since the earlier list"
UNKNOWN_SHOWN = 10  # number of unknown names to show
CUT_BEFORE = "The earlier list was shortened, so pairs marked unlisted may not be new."
DROPPED_SHOWN = 10  # number of dropped pairs to show
GRAMMAR = (
    "'chance > N', 'rise > N', 'fall > N', 'group:NAME > N', 'class:NAME > N' or "
    "'predicate:NAME > N', where N is from 0 to 100 (percent, or percentage points)"
)


def watch_about(watched: WatchList) -> str:
    """Explain the columns of a watch list."""
    length = counted(watched.length, watched.unit)
    return (
        f"{counted(len(watched.rows), 'pair')} from {watched.data}, window of {length}. The chance "
        f"{event_words(watched.event)} covers both directions. The change, in percentage points, "
        f"is relative to the forecast for the {length} before."
    )


def event_words(event: str) -> str:
    """Return the words after "the chance": "of material conflict", "that something happens"."""
    return f"of {event}" if event else "that something happens"


def watch_lines(watched: WatchList) -> list[str]:
    """Return the notes on a watch list: pairs with unknown names, and dropped pairs."""
    lines = [note.text for note in watched.notes]
    if not watched.rows:
        lines.insert(0, "No chance changes by one percentage point or more.")
    if watched.unseen:
        unknown, count = sum(bool(row.unseen) for row in watched.rows), len(watched.rows)
        names = listed(watched.unseen, UNKNOWN_SHOWN)
        lines.append(f"Names that are not in the data ({unknown:,} of {count:,} pairs): {names}")
    if any(row.status == "unlisted" for row in watched.rows):
        lines.append(CUT_BEFORE)
    if watched.dropped:
        pairs = [f"{pair.subject} and {pair.object}" for pair in watched.dropped]
        lines.append(f"No longer listed: {'; '.join(pairs[:DROPPED_SHOWN])}")
        if more := pairs[DROPPED_SHOWN:]:
            lines[-1] += f"; and {len(more)} more"
    return lines


def mail_subject(result: Explanation | WatchList) -> str:
    """Return the subject of an email, with the number of alerts."""
    if isinstance(result, Explanation):
        ends = f"{result.subject}, {result.object}, {shown_time(result.time)}"
        return printable(f"{ends}: {result.label} ({percent(result.probability)})")
    alerts = f"{counted(len(result.alerts), 'alert')}, " if result.alerts else ""
    events = f": {result.event}" if result.event else ""
    return printable(
        f"{alerts}watch list, {period_text(result.first, result.last)}{events}, {result.data}"
    )


def spark_text(counts: Sequence[int]) -> str:
    """Return counts as small bars, one character each."""
    most = max(1, *counts)
    return "".join(BARS[-(-count * (len(BARS) - 1) // most)] for count in counts)


def status_words(row: WatchRow) -> str:
    """Return the status of a row: new, same, or up from 20.1 %."""
    moved = row.status in ("up", "down") and row.since is not None
    return f"{row.status} from {percent(row.since or 0.0)}" if moved else row.status


def events_sentence(did: str, counts: tuple[int, int], length: int, unit: str) -> str:
    """Return how often something happened in the last window and in the one before it."""
    window, (recent, earlier) = counted(length, unit), counts
    if not recent:
        return (
            f"{did} {count_text(earlier)} in the {window} before the last {window}, but not since"
        )
    before = count_text(earlier) if earlier else "but not"
    return f"{did} {count_text(recent)} in the last {window}, {before} in the {window} before"


def alert_sentence(
    kind: str, event: str, pair: tuple[str, str], value: float, chance: float, limit: float
) -> str:
    """Return an alert; the value is a chance in percent or a change in percentage points."""
    what = f"{pair[0]} and {pair[1]}: the chance {event_words(event)}"
    if kind == "chance":
        return f"{what} is {percent(chance)} (alert above {limit:g} %)"
    step = points(value / 100).lstrip("+")
    return f"{what} {kind}s by {step} points to {percent(chance)} (alert above {limit:g} points)"


def other_list(watched: WatchList, earlier: Mapping[str, Any]) -> str:
    """Return a note that an earlier list is for other events or for windows of another length."""
    there, here = (
        f"the chance {event_words(event)} in {counted(length, watched.unit)}"
        for event, length in (
            (earlier["event"], int(earlier["length"])), (watched.event, watched.length),
        )
    )  # fmt: skip
    return f"the earlier list shows {there}, but this one shows {here}: they cannot be compared"
