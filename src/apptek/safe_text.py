"""Text for display: counts in words, and untrusted text that must not control a program."""

import codecs
import io
import re
import unicodedata
from typing import Any, TextIO

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSAFE = frozenset({"Cc", "Cs", "Cn", "Co"})  # controls, surrogates, unassigned, private use
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_PLAIN = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "█": "#", "…": "...", "→": "->"}
# In postgresql://user:password@host. A password may contain : / @ #, although it should not.
_PASSWORD = re.compile(r"(\w://[^\s/:@?#]*):\S*@")
_PARAMETER = re.compile(r"(\bpassword=)[^&\s#'\"]+", re.IGNORECASE)
_FORMULA = r"^([=+\-@\t\r])"  # the start of a cell that a spreadsheet would compute


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: 1 fact, 2 facts; also topologies and entities."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"
    return f"{number:,} {plural}"


def without_passwords(text: str) -> str:
    """Return a text, such as a command line, with passwords removed from its URLs."""
    return _PARAMETER.sub(r"\1", _PASSWORD.sub(r"\1@", text))


def printable(text: str) -> str:
    """Return a name for terminals, XML and HTML, with unprintable characters replaced."""
    if text.isprintable():  # almost always true, and many times faster
        return text
    return "".join(
        REPLACEMENT if c in _TURNING or unicodedata.category(c) in _UNSAFE else c for c in text
    )


def printable_lines(text: str) -> str:
    """Apply `printable` to a text with several lines."""
    return "\n".join(map(printable, text.split("\n")))


def without_formulas(table: Any) -> Any:
    """Return a table for CSV in which cells that a spreadsheet would compute get an apostrophe.

    Users type such a cell as text in the same way.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [
        pc.replace_substring_regex(column, _FORMULA, r"'\1")
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def encodable(stream: TextIO | None) -> None:
    """Make a stream replace characters that its encoding lacks, instead of failing."""
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error("apptek.nearest", _nearest)
        stream.reconfigure(errors="apptek.nearest")


def _nearest(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks, but keep minus signs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), error.end
