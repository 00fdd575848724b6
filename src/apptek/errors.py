"""The errors that a user can cause; the message of each is one line that says what to do."""

import re
from collections.abc import Sequence

WILDCARDS = ("?", "*")  # never names of entities, unless the data itself has one
_LONGEST_NAME = 80  # characters of a name that a message repeats
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])")
_KEYWORDS = {"split": "splitting", "split_by": "splitting", "no_header": "header"}


class ApptekError(Exception):
    """Base of all errors here. The command line prints the message and exits with code 1.

    The code is 2 for a setting, a time or a predicate that cannot be meant, as for every word of a
    command.
    """


class DataError(ApptekError):
    """Facts that cannot be read, or that are too few for the task.

    A message names the options of the command line; a traceback also says what these are in Python.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        words = [option.replace("-", "_") for option in _OPTION.findall(message)]
        keywords = dict.fromkeys(f"{_KEYWORDS.get(word, word)}=" for word in words)
        if keywords:
            self.add_note(f"In Python, options are keywords: {', '.join(keywords)}")


class NoFactsError(DataError):
    """A file or table without any row of facts: a header, or less."""


class UnfitOptionsError(DataError):
    """Options that say nothing about a file: a column that it lacks, a delimiter of a sheet."""


class TimeFormatError(DataError):
    """A text that is not a time, or not a time of the kind that the data has."""


class DownloadError(ApptekError):
    """A benchmark that could not be downloaded, or whose checksum is wrong."""


class GraphError(ApptekError):
    """A saved graph that is damaged or of another format, or a wrong look-up in a graph."""


class UnknownName(ApptekError):  # noqa: N818 - its name in the public interface
    """A name that means no entity of the data, or could mean several.

    name         as it was given
    suggestions  names of the data that are like it
    sentence     what is wrong with it; the message adds the suggestions
    """

    def __init__(self, name: str, suggestions: Sequence[str] = ()) -> None:
        self.name, self.suggestions = name, tuple(suggestions)
        quoted = repr(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")
        is_wildcard = name.strip() in WILDCARDS
        self.sentence = f"{quoted} is not {'a name' if is_wildcard else 'in this data'}."
        *others, last = map(repr, self.suggestions or [""])
        either = f"{', '.join(others)} or {last}" if others else last
        super().__init__(
            f"{self.sentence} Did you mean {either}?" if suggestions else self.sentence
        )

    def __reduce__(self) -> tuple[type["UnknownName"], tuple[str, tuple[str, ...]]]:
        return UnknownName, (self.name, self.suggestions)


class UnknownPredicateError(ApptekError):
    """The name of a predicate that the model does not know."""


class ConfigError(ApptekError):
    """A setting that does not exist, or a value that it cannot have."""


class CheckpointError(ApptekError):
    """A checkpoint that is damaged or belongs to another run."""


class ModelError(ApptekError):
    """A model folder that is missing, damaged or of another format."""


class DivergedError(ApptekError):
    """Training has diverged; it needs other settings."""


class BeingChangedError(ApptekError):
    """A folder that another process is changing now."""


class StoppedError(ApptekError):
    """The user has stopped a command; the message says how to continue."""
