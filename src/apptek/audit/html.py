"""An audit as one HTML file: no script, nothing to load."""

from html import escape
from typing import Any

import pyarrow as pa

from apptek.data.predicate_table import PredicateTable
from apptek.present.html import html_page
from apptek.present.wording import GIVEN, percent, when_text
from apptek.safe_text import counted, printable

HEADER = ("fact", "when", "looks wrong", "expected", "why")


def audit_html(
    summary: dict[str, Any], table: pa.Table, labels: PredicateTable | None = None
) -> str:
    """The whole file: how many facts are suspected, and a row for each of these facts."""
    title = f"{summary['dataset']}: facts that look wrong"
    suspected = ", ".join(f"{count:,} by {kind}" for kind, count in summary["suspected"].items())
    listed = summary["bad_rows_listed"]
    unread = summary["bad_rows"] - listed
    bad_rows = f" {counted(listed, 'row')} with an end before the start stand first." * bool(listed)
    bad_rows += f" {counted(unread, 'row')} could not be read." * bool(unread)
    head = "".join(f"<th>{name}</th>" for name in HEADER)
    about = (
        f"<p>Facts asked about, each with itself hidden: {summary['facts']:,}. If "
        f"{percent(summary['prior'])} of them are wrong, these are more likely wrong than "
        f"right: {suspected}.{bad_rows} A percentage after a predicate is its probability {GIVEN}."
        "</p>"
    )
    rows = "\n".join(f"<tr>{_cells(row)}</tr>" for row in shown_rows(table, labels))
    body = "\n".join(
        [
            f"<h1>{_text(title)}</h1>",
            about,
            f'<p class="soft">The first {table.num_rows:,}, the least plausible first.</p>',
            f"<section><table><thead><tr>{head}</tr></thead><tbody>",
            rows,
            "</tbody></table></section>",
        ]
    )
    return html_page(title, body)


def shown_rows(table: pa.Table, labels: PredicateTable | None) -> list[dict[str, Any]]:
    """The rows as people read them: predicates are shown by their labels."""
    words = labels or PredicateTable()
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        for column in ("predicate", "expected"):
            if row[column] is not None:  # a row that was left out has nothing expected
                row[column] = words.shown(row[column])
    return rows


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _cells(row: dict[str, Any]) -> str:
    fact = f"{_text(row['subject'])} <b>{_text(row['predicate'])}</b> {_text(row['object'])}"
    own = "" if row["probability"] is None else f" ({_text(percent(row['probability']))})"
    instead = {"direction": "subject and object exchanged", "interval": "other dates"}.get(
        row["finding"]
    )
    if instead is None:
        instead = f"{_text(row['expected'])} ({_text(percent(row['expected_probability']))})"
    return (
        f"<td>{fact}{own}</td>"
        f'<td class="when">{_text(when_text(row["since"], row["until"]))}</td>'
        f"<td>{row['finding']} ({percent(row['suspicion'])})</td>"
        f"<td>{instead}</td><td>{_text(row['reason'])}</td>"
    )
