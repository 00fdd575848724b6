"""The command `watch`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.options import (
    JsonOption,
    ModelArgument,
    WindowOptions,
    argument,
    option,
    print_result,
    takes_window,
)
from apptek.commands.reading_options import BAD_ROWS_SHOWN, SkipBadOption
from apptek.safe_text import counted

PAIRS_LISTED = 20  # without a file of pairs


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
    list[Path] | None,
    option(
        "--out",
        "A file for the list (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl); repeatable.",
        "FILE",
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

    One row for each pair: the chance of an event in the window, the chance that the forecast for
    the window before gave, the most probable predicates, and what changed most since then. The HTML
    page is one file that can be sent by mail.

    Example: `apptek watch model --top 20 --days 7 --out watch.html`
    """
    from apptek.files import check_target
    from apptek.forecast.watch import read_pairs
    from apptek.predictor import Predictor
    from apptek.present.forecast_words import watch_lines
    from apptek.present.tables import check_suffix, write_result
    from apptek.terminal import tell, working

    if pairs is None and skip_bad:
        raise typer.BadParameter("--skip-bad is for a file of PAIRS")
    for file in out or []:
        check_target(file)
        check_suffix(file)
    predictor = Predictor.load(model, past_only=True)
    asked, skipped = None, list[str]()
    if pairs is not None:
        asked, skipped = read_pairs(pairs, predictor.answerer.entities, skip_bad=skip_bad)
    with working("forecasting"):
        listed = predictor.watch(asked, most=top or PAIRS_LISTED, **window.keywords())
    for defect in skipped[:BAD_ROWS_SHOWN]:
        tell(f"skipped: {defect}")
    for file in out or []:
        write_result(file, listed, "watch")
        tell(f"{counted(len(listed.rows), 'pair')}, {len(skipped):,} skipped: {file}")
    if out and not as_json:
        for line in watch_lines(listed):
            tell(line)
    else:
        print_result(listed if as_json else _first(listed, top), as_json=as_json)


def _first(listed: Any, top: int | None) -> Any:
    """Return the list with its first rows alone."""
    return replace(listed, rows=listed.rows[:top])
