"""The commands `forecast` and `watch`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apptek.commands import options as opt
from apptek.commands.reading_options import SkipBadOption, SqlOption, list_skipped
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.results import WatchList

PAIRS_LISTED = 20  # without a file of pairs
ALERTED = 3  # the exit code of --exit-code if there are alerts


PredicateOption = Annotated[
    str | None, opt.option("--predicate", "Only events with this predicate.", "NAME")
]
ClassOption = Annotated[str | None, opt.option("--class", "Only events of this class.", "NAME")]
GroupOption = Annotated[str | None, opt.option("--group", "Only events of this group.", "NAME")]


@opt.takes_window
def forecast(
    model: opt.ModelArgument,
    subject: Annotated[str, opt.argument("A", "One entity.")],
    object_: Annotated[
        str | None, opt.argument("B", "The other entity.  [default: all partners of A]")
    ] = None,
    predicate: PredicateOption = None,
    class_: ClassOption = None,
    group: GroupOption = None,
    members: Annotated[
        bool,
        opt.option("--members", "Without B: count Police (Egypt), Citizen (Egypt), ... as Egypt."),
    ] = False,
    top: opt.TopOption = 10,
    allow_unknown: opt.AllowUnknownOption = False,
    suppose: opt.SupposeOption = None,
    as_json: opt.JsonOption = False,
    *,
    window: opt.WindowOptions,
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

    if object_ is None:
        opt.refuse({"--allow-unknown": allow_unknown}, "is for two entities")
    else:
        opt.refuse({"--members": members}, "is for one entity, without B")
    predictor = Predictor.load(model, past_only=True)
    made = predictor.forecast(
        subject, object_, predicate=predicate, class_=class_, group=group, members=members,
        top=top, allow_unknown=allow_unknown,
        suppose=opt.read_suppose(suppose, predictor.model.dataset), **window.keywords(),
    )  # fmt: skip
    opt.print_result(made, as_json=as_json)


PairsArgument = Annotated[
    str | None,
    opt.argument(
        "PAIRS",
        "A file of pairs: subject, object (.csv, .tsv, .txt, .parquet), - for standard input, or a "
        "database.  [default: the pairs whose chance of an event changes most]",
    ),
]
PairsOption = Annotated[
    int | None,
    opt.option(
        "--top", "Number of rows to print.  [default: all of PAIRS; without PAIRS, 20]", "N", min=1
    ),
]
FilesOption = Annotated[
    list[Any] | None,
    opt.option(
        "--out",
        "A file for the list (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl), or a table of a "
        "database (URL#TABLE); repeatable.",
        "FILE",
        parser=opt.file_or_database,
        callback=lambda files: files and [opt.check_result_file(file) for file in files],
    ),
]


EntityOption = Annotated[
    list[str] | None, opt.option("--entity", "Only pairs with this entity; repeatable.", "NAME")
]
CountryOption = Annotated[
    list[str] | None,
    opt.option(
        "--country",
        "Only pairs with an entity of this country: 'Police (India)' is of India; repeatable.",
        "NAME",
    ),
]
_ALERT_PANEL = "Alerts and earlier lists"
AlertOption = Annotated[
    list[str] | None,
    opt.option(
        "--alert",
        "List pairs that meet this rule first, such as 'group:material conflict > 50' or "
        "'rise > 20'; repeatable.",
        "RULE",
        rich_help_panel=_ALERT_PANEL,
    ),
]
ExitCodeOption = Annotated[
    bool,
    opt.option("--exit-code", "Exit with 3 if there are alerts.", rich_help_panel=_ALERT_PANEL),
]
SinceOption = Annotated[
    Path | None,
    opt.option(
        "--since",
        "An earlier list (.json): mark pairs as new, up or down, and name those dropped.",
        "FILE",
        rich_help_panel=_ALERT_PANEL,
    ),
]


@opt.takes_window
def watch(
    model: opt.ModelArgument,
    pairs: PairsArgument = None,
    top: PairsOption = None,
    out: FilesOption = None,
    skip_bad: SkipBadOption = False,
    sql: SqlOption = "",
    entity: EntityOption = None,
    country: CountryOption = None,
    predicate: PredicateOption = None,
    class_: ClassOption = None,
    group: GroupOption = None,
    alert: AlertOption = None,
    exit_code: ExitCodeOption = False,
    since: SinceOption = None,
    mail: opt.MailOption = None,
    as_json: opt.JsonOption = False,
    *,
    window: opt.WindowOptions,
) -> None:
    """Forecast many pairs at once: a list with chances, changes and reasons.

    Each pair has a row: the chance of an event in the window, the chance in the forecast for
    the window before, the most probable predicates, and the main cause of the change. Without
    PAIRS, changes below one percentage point are not listed.

    An alert is 'chance > N', 'rise > N', 'fall > N', 'group:NAME > N', 'class:NAME > N' or
    'predicate:NAME > N', in percent or percentage points.

    Example: `apptek watch model --top 20 --alert 'rise > 20' --out watch.html`
    """
    from apptek.forecast.pair_files import read_pairs
    from apptek.predictor import Predictor
    from apptek.present.tables import write_result
    from apptek.terminal import tell, working

    if pairs is None:
        opt.refuse({"--sql": sql or None, "--skip-bad": skip_bad}, "needs PAIRS")
    predictor = Predictor.load(model, past_only=True)
    asked, skipped = None, list[str]()
    if pairs is not None:
        source, names = opt.file_or_database(pairs), predictor.answerer.entities
        asked, skipped = read_pairs(source, names, skip_bad=skip_bad, sql=sql)
    with working("forecasting"):
        listed = predictor.watch(
            asked, most=top or PAIRS_LISTED, entity=entity or (), country=country or (),
            predicate=predicate, class_=class_, group=group, alerts=alert or (), since=since,
            **window.keywords(),
        )  # fmt: skip
    list_skipped(skipped)
    for file in out or []:
        write_result(file, listed, "watch")
        tell(f"{counted(len(listed.rows), 'pair')}, {len(skipped):,} skipped: {file}")
    opt.write_mail(mail, listed)
    _print(listed, top, as_file=bool(out), as_json=as_json)
    if exit_code and listed.alerts:
        raise typer.Exit(ALERTED)


def _print(listed: "WatchList", top: int | None, *, as_file: bool, as_json: bool) -> None:
    """Print the first rows and those with alerts; of a list that is in a file, only its notes."""
    from apptek.present.watch_words import watch_lines
    from apptek.terminal import tell

    if as_file and not as_json:
        for line in (*(f"ALERT {each.sentence}" for each in listed.alerts), *watch_lines(listed)):
            tell(line)
        return
    rows = enumerate(listed.rows)
    if top is not None and not as_json:
        shown = [row for place, row in rows if place < top or row.alerts]
        listed = replace(listed, rows=tuple(shown))
    opt.print_result(listed, as_json=as_json)
