"""The commands `forecast` and `watch`."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apptek.commands import options as opt
from apptek.commands.options import argument, option
from apptek.commands.reading_options import SKIP_BAD, list_skipped
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.results import WatchList

PAIRS_LISTED = 20  # number of rows if no pairs are given
ALERTED = 3  # the exit code of --exit-code if there are alerts
_ALERTS = "Alerts and earlier lists"  # a panel of the help
EventPredicateOption = Annotated[
    str | None, opt.typer_option("--predicate NAME", "Only events with this predicate.")
]
ClassOption = Annotated[str | None, opt.typer_option("--class NAME", "Only events of this class.")]
GroupOption = Annotated[str | None, opt.typer_option("--group NAME", "Only events of this group.")]
ExitCodeOption = Annotated[
    bool,
    opt.typer_option("--exit-code", "Exit with 3 if there are alerts.", rich_help_panel=_ALERTS),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOptions:
    """The options of `forecast`."""

    model: opt.ModelArgument
    subject: Annotated[str, opt.typer_argument("A", "One entity.")]
    object_: str | None = argument("B", "The other entity.  [default: all partners of A]")
    predicate: EventPredicateOption = None
    class_: ClassOption = None
    group: GroupOption = None
    members: bool = option(
        "--members", "Count Police (Egypt), Citizen (Egypt), ... as Egypt. Only without B.", False
    )
    top: opt.TopOption = 10
    allow_unknown: opt.AllowUnknownOption = False
    suppose: opt.SupposeOption = None
    as_json: opt.JsonOption = False


@opt.takes_options
def forecast(options: ForecastOptions, window: opt.WindowOptions) -> None:
    """Forecast whether an event will happen between two entities, when, and of what kind.

    Without B, it forecasts which entities A will act on, and which will act on A. `predict` assumes
    that an event happens; `forecast` estimates how likely an event is. It uses only facts before
    the window, even if later facts are known. The default window is 7 days. If the facts cover less
    than two weeks, it is a day, an hour or a minute. For data dated by week, month, year or number,
    it is one step. `--suppose "A | Threaten | B | 2021-12-31"` compares the forecasts without and
    with this fact.

    Example: `apptek forecast model Coresia Falgard --days 7`
    """
    from apptek.predictor import Predictor

    if options.object_ is None:
        opt.refuse(options, ["allow_unknown"], "requires two entities")
    else:
        opt.refuse(options, ["members"], "requires a forecast without B")
    predictor = Predictor.load(options.model, past_only=True)
    names = ("predicate", "class_", "group", "members", "top", "allow_unknown")
    keywords = {name: getattr(options, name) for name in names} | asdict(window)
    suppose = opt.read_suppose(options.suppose, predictor.model.dataset)
    made: Any = predictor.forecast(options.subject, options.object_, suppose=suppose, **keywords)
    opt.print_result(made, as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """The options of `watch`."""

    model: opt.ModelArgument
    pairs: str | None = argument(
        "PAIRS",
        "A file of subject-object pairs (.csv, .tsv, .txt, .parquet), - for standard input, or a "
        "database.  [default: the pairs whose chance of an event changes most]",
    )
    top: int | None = option(
        "--top N", "Number of rows to print.  [default: all PAIRS, or 20 without PAIRS]", min=1
    )
    out: list[Any] | None = option(
        "--out FILE",
        "The output file (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl), or a database table "
        "(URL#TABLE); repeatable.",
        parser=opt.file_or_database,
        callback=lambda files: files and [opt.check_result_file(file) for file in files],
    )
    skip_bad: bool = option("--skip-bad", SKIP_BAD, False)
    sql: str = option(
        "--sql SQL",
        "The query to read, if PAIRS is a database URL without a table.",
        "",
        show_default=False,
    )
    entity: list[str] | None = option("--entity NAME", "Only pairs with this entity; repeatable.")
    country: list[str] | None = option(
        "--country NAME",
        "Only pairs with an entity from this country, as in 'Police (India)'; repeatable.",
    )
    predicate: EventPredicateOption = None
    class_: ClassOption = None
    group: GroupOption = None
    alert: list[str] | None = option(
        "--alert RULE",
        "List pairs that meet this rule first, such as 'group:material conflict > 50' or "
        "'rise > 20'; repeatable.",
        rich_help_panel=_ALERTS,
    )
    exit_code: ExitCodeOption = False
    since: Path | None = option(
        "--since FILE",
        "An earlier list (.json). Pairs are marked as new, up or down; dropped pairs are listed.",
        rich_help_panel=_ALERTS,
    )
    mail: opt.MailOption = None
    as_json: opt.JsonOption = False


@opt.takes_options
def watch(options: WatchOptions, window: opt.WindowOptions) -> None:
    """Forecast many pairs at once, and list their chances, changes and reasons.

    For each pair, the list shows the chance of an event in the window and its change since the
    window before. It also shows the most probable predicates and the main cause of the change.
    Without PAIRS, changes below one percentage point are not listed.

    An alert is 'chance > N', 'rise > N', 'fall > N', 'group:NAME > N', 'class:NAME > N' or
    'predicate:NAME > N', in percent or percentage points.

    Example: `apptek watch model --top 20 --alert 'rise > 20' --out watch.html`
    """
    from apptek.forecast.pair_chances import read_pairs
    from apptek.predictor import Predictor
    from apptek.present.tables import write_result
    from apptek.terminal import tell, working

    if options.pairs is None:
        opt.refuse(options, ["sql", "skip_bad"], "needs PAIRS")
    predictor = Predictor.load(options.model, past_only=True)
    asked, skipped = None, list[str]()
    if options.pairs is not None:
        source, names = opt.file_or_database(options.pairs), predictor.answerer.entities
        asked, skipped = read_pairs(source, names, skip_bad=options.skip_bad, sql=options.sql)
    with working("forecasting"):
        listed = predictor.watch(
            asked,
            most=options.top or PAIRS_LISTED,
            entity=options.entity or (),
            country=options.country or (),
            predicate=options.predicate,
            class_=options.class_,
            group=options.group,
            alerts=options.alert or (),
            since=options.since,
            **asdict(window),
        )
    list_skipped(skipped)
    for file in options.out or []:
        write_result(file, listed, "watch")
        tell(f"{counted(len(listed.rows), 'pair')}, {len(skipped):,} skipped: {file}")
    opt.write_mail(options.mail, listed)
    _print(listed, options.top, as_file=bool(options.out), as_json=options.as_json)
    if options.alert and not listed.alerts and not options.as_json:
        tell("No alerts.")
    if options.exit_code and listed.alerts:
        raise typer.Exit(ALERTED)


def _print(listed: "WatchList", top: int | None, *, as_file: bool, as_json: bool) -> None:
    """Print the first rows and those with alerts, or only the notes if the list is in a file."""
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
