"""A watch list as data: it shows itself as text, as a frame and as one HTML page."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import pyarrow as pa

from apptek.data.frames import FrameKind, frame_of
from apptek.explain.html_report import STYLE, fragment
from apptek.explain.wording import counted, percent, period_text, points
from apptek.forecasting.forecast import PredicateForecast
from apptek.safe_text import printable

PREDICATES = 3  # that a row names
COLUMNS = ("pair", "anything", "change", "most probable", "chance")  # of the list as text
_STYLE = """
main { max-width: 1400px; }
.watch td { vertical-align: middle; }
.watch .bar { display: inline-block; width: 90px; height: 12px; margin-right: 8px;
  background: var(--edge); border-radius: 3px; overflow: hidden; vertical-align: -1px; }
.watch .bar i { display: block; height: 100%; background: var(--bar); }
.watch .number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.watch .up { font-weight: 600; } .watch .down { color: var(--soft); }
.watch svg { display: block; } .watch polyline { fill: none; stroke: var(--bar);
  stroke-width: 1.5; } .watch circle { fill: var(--best); }
.watch ol { margin: 0; padding: 0; list-style: none; }
"""
_HEADS = (
    "pair", "chance of anything", "change", "expected facts", "most probable, at least once",
    "what changed most", "facts so far",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRow:
    """What is forecast of one pair, in either direction.

    previous  the chance of anything that was given for the window before, as of its start
    change    probability - previous
    reason    what moved the chance most since the forecast for the window before, in words
    past      the number of facts in each of the windows before this one, the last one last
    notes     what else is worth knowing of the pair: an unknown name, a last fact long ago
    """

    subject: str
    object: str
    probability: float
    expected: float
    previous: float
    change: float
    predicates: tuple[PredicateForecast, ...]
    reason: str
    past: tuple[int, ...]
    unseen: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WatchList:
    """The rows of a window. It prints itself as a table, and shows itself in a notebook."""

    first: str
    last: str
    length: int
    unit: str
    lead: int
    observed_until: str
    data: str
    rows: tuple[WatchRow, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """All fields by their names, ready for JSON."""
        return asdict(self)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame with a row for each pair; the most probable predicates have columns each."""
        return frame_of(watch_table(self), kind)

    def html(self) -> str:
        """The page that `apptek watch --out report.html` writes: one file without links."""
        return watch_html(self)

    @property
    def when(self) -> str:
        """The window in words."""
        return period_text(self.first, self.last)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The names that are not in the facts, each once."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.unseen))

    def cells(self) -> list[tuple[str, ...]]:
        """The cells of the list as text, by COLUMNS."""
        return [
            (
                ", ".join(
                    f"{name} (unknown)" if name in row.unseen else name
                    for name in (row.subject, row.object)
                ),
                percent(row.probability),
                points(row.change),
                row.predicates[0].shown,
                percent(row.predicates[0].probability),
            )
            for row in self.rows
        ]

    def __repr__(self) -> str:
        lines = [COLUMNS, *(tuple(map(printable, cells)) for cells in self.cells())]
        widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([f"Watch list, {self.when}", *table, *map(printable, self.notes)])

    def _repr_html_(self) -> str:
        return fragment(_body(self), more_style=_STYLE)


def watch_html(listed: WatchList) -> str:
    """The whole page. Every name is escaped; the policy in its head forbids scripts and loading."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Watch list, {_text(listed.when)}</title><style>{STYLE}{_STYLE}</style>",
            f"</head><body><main>{_body(listed)}</main></body></html>\n",
        ]
    )


def _body(listed: WatchList) -> str:
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "\n".join(_html_row(row) for row in listed.rows)
    notes = "".join(f'<p class="note">{_text(note)}</p>' for note in listed.notes)
    length = counted(listed.length, listed.unit)
    about = (
        f"{counted(len(listed.rows), 'pair')} of {listed.data}, a window of {length}. The chance "
        f"of anything counts both directions; the change is that against the forecast for the "
        f"{length} before, as it was made then, in percentage points; beside it is what moved it "
        "most. The small curves count the facts of each such window in the past."
    )
    return "\n".join(
        [
            f'<h1>Watch list, {_text(listed.when)}</h1><p class="soft">{_text(about)}</p>{notes}',
            f'<section><table class="watch"><thead><tr>{heads}</tr></thead><tbody>',
            rows,
            "</tbody></table></section>",
        ]
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _html_row(row: WatchRow) -> str:
    change = points(row.change)
    direction = {"+": " up", "\N{MINUS SIGN}": " down"}.get(change[0], "")
    remarks = "".join(f'<div class="soft">{_text(note)}</div>' for note in row.notes)
    predicates = "".join(
        f"<li>{percent(part.probability)} {_text(part.shown)} "
        f'<span class="soft">{_text(part.subject)} → {_text(part.object)}</span></li>'
        for part in row.predicates
    )
    return (
        f"<tr><td><b>{_text(row.subject)}</b> and <b>{_text(row.object)}</b>{remarks}</td>"
        f'<td class="number"><span class="bar"><i style="width:{100 * row.probability:.1f}%"></i>'
        f"</span>{percent(row.probability)}</td>"
        f'<td class="number{direction}">{change}</td>'
        f'<td class="number">{_number(row.expected)}</td><td><ol>{predicates}</ol></td>'
        f"<td>{_text(row.reason)}</td><td>{sparkline(row.past)}</td></tr>"
    )


def sparkline(counts: tuple[int, ...], width: int = 120, height: int = 28) -> str:
    """Counts as a small curve; the last one has a dot."""
    most, step = max(1, *counts), (width - 8) / max(1, len(counts) - 1)
    points = [
        (4 + index * step, height - 4 - (height - 8) * count / most)
        for index, count in enumerate(counts)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    words = f"{sum(counts)} facts, at most {max(counts)} in one window"
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{words}">'
        f'<polyline points="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/></svg>'
    )


def watch_table(listed: WatchList) -> pa.Table:
    """One row for each pair; the most probable predicates in columns of their own."""
    rows: list[dict[str, Any]] = []
    for row in listed.rows:
        cells: dict[str, Any] = {
            "subject": row.subject,
            "object": row.object,
            "first": listed.first,
            "last": listed.last,
            "probability": row.probability,
            "expected": row.expected,
            "previous": row.previous,
            "change": row.change,
            "reason": row.reason,
            "unseen": "; ".join(row.unseen),
        }
        for number in range(PREDICATES):
            part = row.predicates[number] if number < len(row.predicates) else None
            cells[f"predicate_{number + 1}"] = part.predicate if part else ""
            cells[f"label_{number + 1}"] = part.label if part else ""
            cells[f"actor_{number + 1}"] = part.subject if part else ""
            cells[f"probability_{number + 1}"] = part.probability if part else None
        rows.append(cells)
    return pa.Table.from_pylist(rows)


def _number(expected: float) -> str:
    return f"{expected:.1f}" if expected >= 0.05 else "< 0.1"
