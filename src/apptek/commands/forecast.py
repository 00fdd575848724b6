"""The commands `forecast` and `watch`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.options import (
    AllowUnknownOption,
    JsonOption,
    ModelArgument,
    SupposeOption,
    TopOption,
    WindowOptions,
    argument,
    check_result_file,
    file_or_database,
    option,
    print_result,
    read_suppose,
    takes_window,
)
from apptek.commands.reading_options import SkipBadOption, list_skipped
from apptek.safe_text import counted

PAIRS_LISTED = 20  # without a file of pairs


PredicateOption = Annotated[
    str | None, option("--predicate", "Only events with this predicate.", "NAME")
]
ClassOption = Annotated[str | None, option("--class", "Only events of this class.", "NAME")]
GroupOption = Annotated[str | None, option("--group", "Only events of this group.", "NAME")]


@takes_window
def forecast(
    model: ModelArgument,
    subject: Annotated[str, argument("A", "One entity.")],
    object_: Annotated[
        str | None, argument("B", "The other entity.  [default: all partners of A]")
    ] = None,
    predicate: PredicateOption = None,
    class_: ClassOption = None,
    group: GroupOption = None,
    members: Annotated[
        bool,
        option("--members", "Without B: count Police (Egypt), Citizen (Egypt), ... as Egypt."),
    ] = False,
    top: TopOption = 10,
    allow_unknown: AllowUnknownOption = False,
    suppose: SupposeOption = None,
    as_json: JsonOption = False,
    *,
    window: WindowOptions,
) -> None:
    """Forecast whether an event will happen between two entities, when, and of what kind.

    With one entity: which entities it will act on, and which will act on it. `predict` assumes that
    an event happens; `forecast` estimates how likely one is. It uses only facts before the window,
    even if later ones are known. The default window has 7 days. If the facts cover less than two
    weeks, it is a day, an hour or a minute. If data is dated by weeks, months, years or numbers, it
    is one step. `--suppose "A | Threaten | B | 2021-12-31"` compares the forecasts without and with
    this fact.

    Example: `apptek forecast model Coresia Falgard --days 7`
    """
    from apptek.predictor import Predictor

    if object_ is None and allow_unknown:
        raise typer.BadParameter("--allow-unknown is for two entities")
    if object_ is not None and members:
        raise typer.BadParameter("--members is for one entity, without B")
    predictor = Predictor.load(model, past_only=True)
    made = predictor.forecast(
        subject, object_, predicate=predicate, class_=class_, group=group, members=members,
        top=top, allow_unknown=allow_unknown,
        suppose=read_suppose(suppose, predictor.model.dataset), **window.keywords(),
    )  # fmt: skip
    print_result(made, as_json=as_json)


PairsArgument = Annotated[
    Path | None,
    argument(
        "PAIRS",
        "A file of pairs: subject, object (.csv, .tsv, .txt, .parquet); - for standard input.  "
        "[default: the pairs whose chance of an event changes most]",
    ),
]
PairsOption = Annotated[
    int | None,
    option(
        "--top", "Number of rows to print.  [default: all of PAIRS; without PAIRS, 20]", "N", min=1
    ),
]
FilesOption = Annotated[
    list[Any] | None,
    option(
        "--out",
        "A file for the list (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl), or a table of a "
        "database (URL#TABLE); repeatable.",
        "FILE",
        parser=file_or_database,
        callback=lambda files: files and [check_result_file(file) for file in files],
    ),
]


@takes_window
def watch(
    model: ModelArgument,
    pairs: PairsArgument = None,
    top: PairsOption = None,
    out: FilesOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
    *,
    window: WindowOptions,
) -> None:
    """Forecast many pairs at once: a list with chances, changes and reasons.

    Each pair has a row: the chance of an event in the window, the chance in the forecast for
    the window before, the most probable predicates, and the main cause of the change. The HTML
    page is one file that can be sent by mail.

    Example: `apptek watch model --top 20 --days 7 --out watch.html`
    """
    from apptek.forecast.watch import read_pairs
    from apptek.predictor import Predictor
    from apptek.present.forecast_words import watch_lines
    from apptek.present.tables import write_result
    from apptek.terminal import tell, working

    if pairs is None and skip_bad:
        raise typer.BadParameter("--skip-bad needs a file of PAIRS")
    predictor = Predictor.load(model, past_only=True)
    asked, skipped = None, list[str]()
    if pairs is not None:
        asked, skipped = read_pairs(pairs, predictor.answerer.entities, skip_bad=skip_bad)
    with working("forecasting"):
        listed = predictor.watch(asked, most=top or PAIRS_LISTED, **window.keywords())
    list_skipped(skipped)
    for file in out or []:
        write_result(file, listed, "watch")
        tell(f"{counted(len(listed.rows), 'pair')}, {len(skipped):,} skipped: {file}")
    if out and not as_json:
        for line in watch_lines(listed):
            tell(line)
    else:
        shown = listed if as_json else replace(listed, rows=listed.rows[:top])
        print_result(shown, as_json=as_json)
