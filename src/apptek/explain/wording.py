"""Numbers, times and names as people read them."""

import unicodedata
from collections.abc import Sequence

from apptek.data.times import TimeAxis

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSAFE = frozenset({"Cc", "Cs", "Cn", "Co"})  # controls, surrogates, no characters
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """A name for terminals, XML and HTML: what cannot be shown, or turns the writing, replaced."""
    return "".join(
        REPLACEMENT if c in _TURNING or unicodedata.category(c) in _UNSAFE else c for c in text
    )


def shortened(text: str, length: int) -> str:
    """At most so many characters, with an ellipsis where some were cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def signed(value: float) -> str:
    """+1.32, -0.40 (with a true minus sign)."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def percent(probability: float) -> str:
    """41.2 %, and what is below a tenth of that as such."""
    return "< 0.1 %" if 0 < probability < 0.0005 else f"{100 * probability:.1f} %"


def counted(number: int, noun: str) -> str:
    """1 fact, 2 facts; topologies and entities as well."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith(("gy", "ty")) else f"{noun}s"
    return f"{number:,} {plural}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """A, B and C; after the first few: A, B, C, D and 3 more."""
    shown = list(names[:most])
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def when_text(since: str, until: str) -> str:
    """When a fact holds: 2014-05-11, 1999 to 2003, since 1999, until 2003; "?" is unknown."""
    if since == until:
        return "undated" if since == "?" else since
    if since == "?":
        return f"until {until}"
    return f"since {since}" if until == "?" else f"{since} to {until}"


def apart_text(axis: TimeAxis, apart: int | None, *, lasting: bool = False) -> str:
    """A signed distance to the query: 2 days before, the same day; nothing where there is none."""
    if apart is None:
        return ""
    if not apart and (lasting or axis.unit == "integer"):
        return "at that time"
    unit = "step" if axis.unit == "integer" else axis.unit
    if not apart:
        return f"the same {unit}"
    return f"{counted(abs(apart), unit)} {'before' if apart < 0 else 'after'}"
