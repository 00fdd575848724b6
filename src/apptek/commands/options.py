"""The declaration and expansion of options, the options that commands share, and printing.

A command takes its options as a dataclass, and `takes_options` creates a command line from it:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class StatsOptions:
        data: DataArguments
        seed: SeedOption = 0
        rows: int = option("--rows N", "Number of rows to print.", 10, min=1)

    @takes_options
    def stats(options: StatsOptions) -> None: ...
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from apptek.facts.facts import Dataset
    from apptek.results import Result

COMMAND_LINE = "command_line"  # the key in a field's metadata
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def typer_option(words: str, help_text: str, **more: Any) -> Any:
    """Return an annotation for an option; `--top N` is the option --top with the metavar N."""
    name, _, metavar = words.partition(" ")
    return typer.Option(name, help=help_text, metavar=metavar or None, **more)


def option(words: str, help_text: str, default: Any = None, **more: Any) -> Any:
    """Declare a dataclass field as an option."""
    return field(default=default, metadata={COMMAND_LINE: typer_option(words, help_text, **more)})


def typer_argument(metavar: str, help_text: str) -> Any:
    """Return an annotation for an argument."""
    return typer.Argument(metavar=metavar, help=help_text)


def argument(metavar: str, help_text: str, default: Any = None) -> Any:
    """Declare a dataclass field as an argument."""
    return field(default=default, metadata={COMMAND_LINE: typer_argument(metavar, help_text)})


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Expand the dataclass parameters of a command: each field becomes an option.

    A class can list in `not_taken` the fields that its commands do not accept. These fields keep
    their defaults.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    holders: dict[str, Any] = {
        each.name: each.annotation for each in own if is_dataclass(each.annotation)
    }
    taken = {name: _taken_fields(kind) for name, kind in holders.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in holders.items():
            given[name] = kind(**{each: given.pop(each) for each in taken[name]})
        command(**given)

    parameters = [each.replace(kind=_KEYWORD) for each in own if each.name not in holders]
    parameters += [each for of_class in taken.values() for each in of_class.values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _taken_fields(kind: Any) -> dict[str, inspect.Parameter]:
    parameters = {}
    for each in fields(kind):
        if each.name not in getattr(kind, "not_taken", ()):
            declared = each.metadata.get(COMMAND_LINE)
            annotation = each.type if declared is None else Annotated[each.type, declared]
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            parameters[each.name] = inspect.Parameter(
                each.name, _KEYWORD, default=default, annotation=annotation
            )
    return parameters


def with_engine(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option --engine to a command."""

    @wraps(command)
    def run(*, engine: Any, **named: Any) -> None:
        if engine == "threads":
            command(**named)
            return
        from apptek.engine import use_engine

        outputs = named.get("out")
        paths = [*(outputs if isinstance(outputs, list) else [outputs]), named.get("model")]
        with use_engine(engine, next((p for p in paths if isinstance(p, Path)), Path("audit"))):
            command(**named)

    own = inspect.signature(command)
    engine = inspect.Parameter("engine", _KEYWORD, default="threads", annotation=EngineOption)
    added = own.replace(parameters=[*own.parameters.values(), engine])
    run.__signature__ = added  # type: ignore[attr-defined]
    return run


def refuse(options: Any, names: Sequence[str], why: str) -> None:
    """Raise a usage error for the first of these options that differs from its default, if any."""
    defaults = {each.name: each.default for each in fields(options)}
    for name in names:
        if getattr(options, name) not in (defaults[name], []):
            word = name.rstrip("_").replace("_", "-")
            raise typer.BadParameter(f"--{word} {why}")


def file_or_database(text: str) -> Any:
    """Return the database URL or the file that an option's text names."""
    from apptek.databases import find_database

    return find_database(text) or Path(text)


def check_file(path: Path | None) -> Path | None:
    """Reject a file that cannot be written, before the work begins (an option callback)."""
    from apptek.files import check_target

    if path is not None:
        check_target(path)
    return path


def check_folder(path: Path | None) -> Path | None:
    """Reject a folder that is not empty."""
    from apptek.files import check_new_folder

    if path is not None:
        check_new_folder(path)
    return path


def check_result_file(path: Any) -> Any:
    """Reject a file without a result suffix, or a database without a table."""
    from apptek.present.tables import check_suffix

    if path is not None:
        check_suffix(path)
    return check_file(path) if isinstance(path, Path) else path


def check_table_file(path: Any) -> Any:
    """Reject a file that cannot contain a table."""
    from apptek.present.tables import TABLES, check_suffix

    if path is not None:
        check_suffix(path, TABLES)
    return check_file(path) if isinstance(path, Path) else path


DataArguments = Annotated[
    list[str],
    typer_argument(
        "DATA...",
        "A folder, one or more files (read as one), a pattern such as 'data/*.csv', - for standard "
        "input, a database URL (docs/databases.md), or a benchmark's name.",
    ),
]
DataArgument = Annotated[str, typer_argument("DATA", "A folder, a file, or a benchmark's name.")]
ModelArgument = Annotated[Path, typer_argument("MODEL", "A model folder.")]
SUBJECT = "The entity that acts."
OBJECT = "The entity acted upon."
TIME = "The time, in the format of the data; '?' (in quotes) if unknown."
SubjectArgument = Annotated[str, typer_argument("SUBJECT", SUBJECT)]
ObjectArgument = Annotated[str, typer_argument("OBJECT", OBJECT)]
TimeArgument = Annotated[str, typer_argument("TIME", TIME)]
OutOption = Annotated[
    Path, typer_option("--out DIR", "The folder to write. It must be new or empty.")
]
ProtocolOption = Annotated[
    Literal["official", "paper", "forecast"],
    typer_option(
        "--protocol NAME",
        "official: the published splits; paper: filtered and split as in the paper; forecast: "
        "icews14 and icews05-15 split by date, as in the forecasting literature.",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer_option(
        "--set KEY=VALUE",
        "Change the setting `section.key` (docs/settings.md); repeatable. "
        "An unknown name prints the valid ones.",
    ),
]
AllowUnknownOption = Annotated[
    bool,
    typer_option(
        "--allow-unknown",
        "Give a generic answer if a name is not in the data. Without it, the command stops and "
        "suggests similar names.",
    ),
]
SeedOption = Annotated[int, typer_option("--seed N", "The random seed.", min=0)]
ObservedUntilOption = Annotated[
    str | None,
    typer_option(
        "--observed-until TIME",
        "The end of the observed period, even if its last days have no facts. Forecasts begin "
        "after it.  [default: the time of the last fact]",
    ),
]
PastOnlyOption = Annotated[
    bool,
    typer_option(
        "--past-only", "Use only facts before the query's time, even if later ones are known."
    ),
]
SupposeOption = Annotated[
    list[str] | None,
    typer_option(
        "--suppose FACT",
        "Show what would change if this fact were in the data: 'SUBJECT | PREDICATE | OBJECT | "
        "TIME', or a file of facts; repeatable. The model is not changed.",
    ),
]
TopOption = Annotated[int, typer_option("--top N", "Number of rows to print.", min=1)]
ResultOption = Annotated[
    Path | None,
    typer_option("--result FILE", "Save the result in this JSON file.", callback=check_file),
]
MailOption = Annotated[
    Path | None,
    typer_option(
        "--mail FILE",
        "Save the result as an email (.eml) in text and HTML, without a sender or recipients.",
        callback=check_file,
    ),
]
JsonOption = Annotated[bool, typer_option("--json", "Print the result as JSON.")]
EngineOption = Annotated[
    Literal["threads", "processes", "ray"],
    typer_option(
        "--engine NAME",
        "How to process many queries: with threads, processes or ray (the Ray cluster at "
        "`RAY_ADDRESS`, or a local one). The results do not depend on it.",
    ),
]


def _length(unit: str) -> Any:
    return option(f"--{unit} N", f"The length of the window in {unit}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """The window to forecast; every field is an option and a keyword of `Predictor.forecast`."""

    start: str | None = option(
        "--from TIME",
        "The start of the window.  [default: right after the last observed time]",
    )
    until: str | None = option("--until TIME", "The end of the window (inclusive).")
    days: int | None = _length("days")
    months: int | None = _length("months")
    years: int | None = _length("years")
    hours: int | None = _length("hours")
    minutes: int | None = _length("minutes")
    steps: int | None = option(
        "--steps N",
        "The length of the window in time steps of the data, for data dated by week or by number.",
    )


def read_suppose(values: list[str] | None, data: "Dataset") -> list[Any] | None:
    """Return the facts in --suppose; text without | names a file, which is read like the data."""
    from apptek.reading.reader import read_more

    facts: list[Any] = []
    for value in values or []:
        if "|" in value:
            facts.append(value)
            continue
        if not Path(value).exists():
            form = "'SUBJECT | PREDICATE | OBJECT | TIME', or a file of facts"
            raise typer.BadParameter(f"--suppose {value!r}: expected {form}")
        read = read_more(data, Path(value))
        columns = [column.tolist() for column in read.all_facts().columns()[:4]]
        facts += [
            (read.entities[s], read.predicates[p], read.entities[o], read.axis.format(when))
            for s, p, o, when in zip(*columns, strict=True)
        ]
    return facts or None


def write_mail(path: Path | None, result: Any) -> None:
    """Write an explanation or a watch list as an email if a path is given."""
    from apptek.files import write_whole
    from apptek.present.html import mail_bytes
    from apptek.terminal import tell

    if path is not None:
        write_whole(path, mail_bytes(result))
        tell(f"email: {path}")


def print_result(
    result: "Result",
    *,
    as_json: bool,
    render: Callable[..., str] | None = None,
    similar: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> None:
    """Print a result on stdout, as text or as JSON with all fields and `more`.

    similar  for each name that is not in the data, names that are similar to it
    """
    if as_json:
        from apptek.results import to_dict

        print_json(to_dict(result) | more | ({} if similar is None else {"similar": similar}))
        return
    from apptek.present.text import render_text, with_what_if
    from apptek.present.wording import similar_lines

    def text(*, width: int) -> str:
        usual = (with_what_if(result, width, render) if render else render_text(result, width),)
        return "\n".join([*usual, *similar_lines(similar or {})])

    print_text(text)


def print_either(
    content: dict[str, Any], render: Callable[..., str], *values: Any, as_json: bool
) -> None:
    """Print a JSON object, or the text that a `present` function renders."""
    if as_json:
        print_json(content)
    else:
        print_text(render, *values)


def print_text(render: Callable[..., str], *values: Any, **named: Any) -> None:
    """Print the text that a `present` function renders, at terminal width."""
    from apptek.terminal import output

    console = output()
    text = render(*values, width=console.width, **named)
    console.print(text, markup=False, soft_wrap=True)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
