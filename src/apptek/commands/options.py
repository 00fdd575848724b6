"""Arguments and options that several commands share, each defined once, and their output."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from apptek.facts.facts import Dataset
    from apptek.results import Result


def option(words: str, help_text: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option for an annotation."""
    return typer.Option(words, help=help_text, metavar=metavar, **more)


def argument(metavar: str, help_text: str) -> Any:
    """Return an argument for an annotation."""
    return typer.Argument(metavar=metavar, help=help_text)


DataArguments = Annotated[
    list[str],
    argument(
        "DATA...",
        "A folder, a file or several that are read as one, a pattern such as 'data/*.csv', - for "
        "standard input, the URL of a database (docs/databases.md), or the name of a benchmark.",
    ),
]


DataArgument = Annotated[str, argument("DATA", "A folder, a file, or the name of a benchmark.")]


ModelArgument = Annotated[Path, argument("MODEL", "A model folder.")]


SubjectArgument = Annotated[str, argument("SUBJECT", "The entity that acts.")]


ObjectArgument = Annotated[str, argument("OBJECT", "The entity acted upon.")]


TIME = "The time, in the format of the data; '?' (in quotes) if unknown."


TimeArgument = Annotated[str, argument("TIME", TIME)]


OutOption = Annotated[Path, option("--out", "The folder to write; new or empty.", "DIR")]


ProtocolOption = Annotated[
    Literal["official", "paper", "forecast"],
    option(
        "--protocol",
        "official: the splits as published; paper: filtered and split as in the paper; "
        "forecast: icews14 and icews05-15 cut by date, as in the forecasting literature.",
        "NAME",
    ),
]


SettingsOption = Annotated[
    list[str] | None,
    option(
        "--set",
        "Change the setting `section.key` (docs/settings.md); repeatable. "
        "A wrong name lists the right ones.",
        "KEY=VALUE",
    ),
]


PredicatesOption = Annotated[
    str | None,
    option(
        "--predicates",
        "A table of predicates: predicate, class, label, phrase, group. `none` turns off the "
        "built-in CAMEO table, which is otherwise applied to ICEWS and GDELT data.",
        "FILE",
    ),
]


AliasesOption = Annotated[
    Path | None,
    option(
        "--aliases",
        "A table of aliases: a name in the data, then its aliases.",
        "FILE",
    ),
]


AllowUnknownOption = Annotated[
    bool,
    option(
        "--allow-unknown",
        "Give a general answer if a name is not in the data. Without it, the command stops and "
        "suggests similar names.",
    ),
]


SeedOption = Annotated[int, option("--seed", "The random seed.", "N", min=0)]


ObservedUntilOption = Annotated[
    str | None,
    option(
        "--observed-until",
        "The last observed time, with facts or without; forecasts begin after it.  "
        "[default: the last fact]",
        "TIME",
    ),
]


ResumeOption = Annotated[bool, option("--resume", "Continue a run that was stopped.")]


PastOnlyOption = Annotated[
    bool,
    option("--past-only", "Use only facts before the query's time, even if later ones are known."),
]


SupposeOption = Annotated[
    list[str] | None,
    option(
        "--suppose",
        "Also answer as if this fact were in the data, 'SUBJECT | PREDICATE | OBJECT | TIME', or "
        "all facts of a file; repeatable. Nothing is written to the model.",
        "FACT",
    ),
]


def read_suppose(values: list[str] | None, data: "Dataset") -> list[Any] | None:
    """Return the facts of --suppose; a text without | is a file, which is read like the data."""
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


TopOption = Annotated[int, option("--top", "Number of rows to print.", "N", min=1)]


def file_or_database(text: str) -> Any:
    """Return what an argument names: the URL of a database, else a file; a parser of an option."""
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
    """Reject a file whose suffix is not one for results, or a database without a table."""
    from apptek.present.tables import check_suffix

    if path is not None:
        check_suffix(path)
    return check_file(path) if isinstance(path, Path) else path


ResultOption = Annotated[
    Path | None,
    option("--result", "Also write the result to this JSON file.", "FILE", callback=check_file),
]


MailOption = Annotated[
    Path | None,
    option(
        "--mail",
        "Also write a mail (.eml) with a text and an HTML part; add sender and recipients.",
        "FILE",
        callback=check_file,
    ),
]


def write_mail(path: Path | None, result: Any) -> None:
    """Write an explanation or a watch list as a mail, if a file is given."""
    from apptek.files import write_whole
    from apptek.present.mail import mail_bytes
    from apptek.terminal import tell

    if path is not None:
        write_whole(path, mail_bytes(result))
        tell(f"mail: {path}")


JsonOption = Annotated[bool, option("--json", "Print the result as JSON.")]


EngineOption = Annotated[
    Literal["threads", "processes", "ray"],
    option(
        "--engine",
        "Where to work on many queries: threads, processes, or ray (the Ray cluster at "
        "`RAY_ADDRESS`, or one on this machine). The results are the same.",
        "NAME",
    ),
]


def with_options(
    command: Callable[..., None], holder: Any, argument: str, names: Sequence[str], **fixed: Any
) -> Callable[..., None]:
    """Add some fields of a dataclass as options to a command, which gets them as one argument.

    The dataclass's other fields come from `fixed`, or keep their defaults.
    """
    options = [each for each in fields(holder) if each.name in names]

    @wraps(command)
    def run(*args: Any, **named: Any) -> None:
        held = holder(**{option.name: named.pop(option.name) for option in options}, **fixed)
        command(*args, **{argument: held}, **named)

    _set_options(run, command, {each.name: (each.type, each.default) for each in options}, argument)
    return run


def with_engine(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option --engine to a command."""

    @wraps(command)
    def run(*args: Any, engine: Any, **named: Any) -> None:
        if engine == "threads":
            command(*args, **named)
            return
        from apptek.engine import use_engine

        outputs = named.get("out")
        paths = [*(outputs if isinstance(outputs, list) else [outputs]), named.get("model")]
        with use_engine(engine, next((p for p in paths if isinstance(p, Path)), Path("audit"))):
            command(*args, **named)

    _set_options(run, command, {"engine": (EngineOption, "threads")})
    return run


def _set_options(
    run: Any, command: Callable[..., None], options: dict[str, tuple[Any, Any]], replaced: str = ""
) -> None:
    """Add options to a command: typer builds the command line from the signature."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != replaced]
    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for name, (annotation, default) in options.items()
    ]
    run.__signature__ = signature.replace(parameters=[*own, *more])


def refuse(options: Mapping[str, Any], why: str) -> None:
    """Raise a usage error that names the first of these options that was given, if any."""
    for word, value in options.items():
        if value is not None and value is not False and value != []:
            raise typer.BadParameter(f"{word} {why}")


def print_result(
    result: "Result",
    *,
    as_json: bool,
    render: Callable[..., str] | None = None,
    similar: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> None:
    """Print a result on stdout: as text, or all of its fields, and `more`, as JSON.

    similar  similar names for each name that is not in the data
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


def print_text(render: Callable[..., str], *values: Any, **named: Any) -> None:
    """Print the text that a function of `present` makes of some values, at terminal width."""
    from apptek.terminal import output

    console = output()
    text = render(*values, width=console.width, **named)
    console.print(text, markup=False, soft_wrap=True)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def _length(unit: str) -> Any:
    return option(f"--{unit}", f"The length of the window in {unit}.", "N")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """The window to forecast; every field is an option and a keyword of `forecast`."""

    start: Annotated[
        str | None,
        option(
            "--from",
            "The first time of the window.  [default: the one after the last observed time]",
            "TIME",
        ),
    ] = None
    until: Annotated[str | None, option("--until", "The last time of the window.", "TIME")] = None
    days: Annotated[int | None, _length("days")] = None
    months: Annotated[int | None, _length("months")] = None
    years: Annotated[int | None, _length("years")] = None
    hours: Annotated[int | None, _length("hours")] = None
    minutes: Annotated[int | None, _length("minutes")] = None
    steps: Annotated[
        int | None,
        option(
            "--steps",
            "The length of the window in steps of the data, such as weeks or numbers.",
            "N",
        ),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Return the fields as keywords of `Predictor.forecast`."""
        return asdict(self)


def takes_window(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a window to a command, which gets them as its argument `window`."""
    names = [field.name for field in fields(WindowOptions)]
    return with_options(command, WindowOptions, "window", names)
