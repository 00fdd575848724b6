"""The errors that a user can cause. Each message is one line that says what to do."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

NOT_NAMES = ("?", "*", "")  # never names of entities, unless the data contains such a name
_LONGEST_NAME = 80  # maximum characters of a name in a message


class ApptekError(Exception):
    """The base class of all errors here. The command line prints the message and exits with code 1.

    For an invalid argument, setting, time or predicate, the exit code is 2, as for wrong usage.
    """


class ArgumentError(ApptekError, ValueError):
    """An invalid argument of a function."""


class DataError(ApptekError):
    """Facts that cannot be read, or too few facts for the task.

    Messages mention command-line options, which are keywords in Python.
    """


class NoFactsError(DataError):
    """A file or table without any facts: only a header, or nothing."""


class UnfitOptionsError(DataError):
    """Options that do not apply to a file: a missing column, a delimiter for a sheet."""


class TimeFormatError(DataError):
    """A text that is not a time, or not in the data's format. `expected` describes the format."""

    def __init__(self, expected: str, text: str | None = None) -> None:
        self.expected = expected
        super().__init__(expected if text is None else f"time {text!r}: expected {expected}")


class DownloadError(ApptekError):
    """A benchmark that could not be downloaded, or whose checksum is wrong."""


class DatabaseError(ApptekError):
    """A database that cannot be reached, or that refuses a query or a table."""


class GraphError(ApptekError):
    """A saved graph that is damaged or has another format, or an invalid look-up in a graph."""


class UnknownName(ApptekError):  # noqa: N818 - its name in the public interface
    """An unknown or ambiguous name of an entity.

    name         the name as given
    suggestions  similar names in the data
    others       the errors for other unknown names in the same question
    sentence     what is wrong with the names; the message adds each name's suggestions
    where        the row of a list that contains the name; empty for a single question
    """

    def __init__(
        self,
        name: str,
        suggestions: Sequence[str] = (),
        others: Sequence["UnknownName"] = (),
        where: str = "",
    ) -> None:
        self.where = where
        self.name, self.suggestions, self.others = name, tuple(suggestions), tuple(others)
        quoted = repr(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")
        at = f"{where}: " if where else ""
        sentence = (
            f"{at}{quoted} is not {'a name' if name.strip() in NOT_NAMES else 'in this data'}."
        )
        *firsts, last = map(repr, self.suggestions or [""])
        either = f"{', '.join(firsts)} or {last}" if firsts else last
        message = f"{sentence} Did you mean {either}?" if suggestions else sentence
        self.sentence: str = " ".join([sentence, *(other.sentence for other in self.others)])
        super().__init__(" ".join([message, *map(str, self.others)]))

    def __reduce__(self) -> tuple[type["UnknownName"], tuple[Any, ...]]:
        return UnknownName, (self.name, self.suggestions, self.others, self.where)


class UnknownPredicateError(ApptekError):
    """A predicate name that the model does not know."""


class ConfigError(ApptekError):
    """An unknown setting, or an invalid value for a setting."""


class CheckpointError(ApptekError):
    """A checkpoint that is damaged or belongs to another run."""


class ModelError(ApptekError):
    """A model folder that is missing, damaged or in another format."""


class DivergedError(ApptekError):
    """A training run that has diverged and needs other settings."""


class BeingChangedError(ApptekError):
    """A folder that another process is changing now."""


class StoppedError(ApptekError):
    """A command that the user stopped. The message says how to continue."""


def check_count(name: str, count: Any, least: int = 1) -> None:
    """Raise ArgumentError if an argument is not a whole number of at least `least`."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
        raise ArgumentError(f"{name} is {count!r}; expected a whole number of at least {least}")
