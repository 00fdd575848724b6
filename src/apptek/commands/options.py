"""Arguments and options that several commands share, each defined once."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from apptek.data.facts import Dataset
    from apptek.data.predicate_table import PredicateTable
    from apptek.results import Result


DataArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="A folder, a file or several that are read as one, a pattern such as 'data/*.csv', - "
        "for standard input, or the name of a benchmark.",
    ),
]
DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A folder, a file, or the name of a benchmark.")
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder to write; new or empty.")
]
ProtocolOption = Annotated[
    Literal["official", "paper", "forecast"],
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="official: the splits as published; paper: filtered and split as in the paper; "
        "forecast: icews14 and icews05-15 cut by date, as forecasts are compared.",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change the setting `section.key` (docs/settings.md); repeatable. "
        "A wrong name lists the right ones.",
    ),
]
PredicatesOption = Annotated[
    str | None,
    typer.Option(
        "--predicates",
        metavar="FILE",
        help="A table of predicates: predicate, class, label, phrase, group. `none`: not even the "
        "one of CAMEO, which otherwise applies by itself to the predicates of ICEWS and GDELT.",
    ),
]
AliasesOption = Annotated[
    Path | None,
    typer.Option(
        "--aliases",
        metavar="FILE",
        help="A table of further names of entities: a name of the data, then its aliases.",
    ),
]
AllowUnknownOption = Annotated[
    bool,
    typer.Option(
        "--allow-unknown",
        help="Give a general answer where a name is not in the data. Without it, the command stops "
        "and suggests similar names.",
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="The seed of all randomness.")
]
ObservedUntilOption = Annotated[
    str | None,
    typer.Option(
        "--observed-until",
        metavar="TIME",
        help="The last time that was observed, with facts or without; forecasts begin after it.  "
        "[default: the last fact]",
    ),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")]
AsOfOption = Annotated[
    bool,
    typer.Option(
        "--as-of",
        help="Use only what was known before the query's time, also where later facts are known.",
    ),
]
TopOption = Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many to show.")]
ResultOption = Annotated[
    Path | None,
    typer.Option("--result", metavar="FILE", help="Also write the result to this JSON file."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")
]


@dataclass(frozen=True, slots=True)
class NameTables:
    """What a user says of the names in the data, read before the data: a bad table fails early."""

    labels: "PredicateTable | None"
    aliases: dict[str, str]

    @classmethod
    def read(cls, predicates: str | None, aliases: Path | None) -> "NameTables":
        """The tables of --predicates and --aliases."""
        from apptek.data.aliases import read_aliases
        from apptek.data.predicate_table import as_predicate_table

        table = {} if aliases is None else read_aliases(aliases)
        return cls(as_predicate_table(predicates), table)

    def apply(self, dataset: "Dataset") -> "Dataset":
        """The data set with these tables; tells on stderr what they say of it."""
        from apptek.data.aliases import with_aliases
        from apptek.terminal import tell

        named = with_aliases(dataset.labelled(self.labels), self.aliases)
        if named.labels:
            known, count = len(named.labels), len(dataset.predicates)
            off = "; --predicates none switches that off" if self.labels is None else ""
            tell(f"labels: {known:,} of {count:,} predicates are in {named.labels.source}{off}")
        if self.aliases:
            found = sum(dataset.entities.find(name) is not None for name in self.aliases.values())
            tell(f"aliases: {found:,} of {len(self.aliases):,} stand for entities of the data")
        return named


def print_result(result: "Result", *, as_json: bool) -> None:
    """Print a result on stdout: as text, or all of its fields as JSON."""
    from apptek.results import to_dict

    if as_json:
        print_json(to_dict(result))
        return
    from apptek.present.text import render_text
    from apptek.terminal import output

    console = output()
    console.print(render_text(result, console.width), markup=False, soft_wrap=True)


def print_json(content: dict[str, Any]) -> None:
    """Prints one JSON object on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
