"""The command `audit`: facts that look wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.engine_options import Distribution, distributes
from apptek.commands.options import JsonOption, SeedOption, TopOption, print_json
from apptek.commands.reading_options import Reading, reads_data
from apptek.safe_text import counted


@distributes
@reads_data
def audit(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATA|MODEL",
            help="A folder, a file or the name of a benchmark, or a model folder.",
        ),
    ],
    reading: Reading,
    spread: Distribution,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The file for all facts (.html, .csv, .parquet, .xlsx, .json).",
        ),
    ] = None,
    explained: Annotated[
        int, typer.Option("--reasons", metavar="N", min=0, help="How many facts get a reason.")
    ] = 1000,
    top: TopOption = 10,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Find the facts of a graph that look wrong, the least plausible first.

    Each fact is asked about with itself hidden: a predicate that hardly fits, subject and object
    that seem exchanged, dates that cannot be. A model folder is used as it is. Data is fitted
    first, so that no fact is judged by a model that has learned it; rows that end before they
    start come first in the list, other bad rows are counted.

    Example: `apptek audit world --out suspects.html`
    """
    from apptek.audit.audit import audit_facts
    from apptek.audit.html import shown_rows
    from apptek.audit.judge import Judge, all_in_train, cross_fit
    from apptek.audit.report import (
        audit_summary,
        audit_table,
        check_audit_file,
        plain_rows,
        write_audit,
    )
    from apptek.files import is_file
    from apptek.models.model_folder import load_model
    from apptek.present.wording import GIVEN
    from apptek.terminal import tell, working

    if out is not None:
        check_audit_file(out)
    beside = out or Path("audit")  # where an engine keeps its files
    spread.check(beside)
    bad_rows, left_out = 0, list[Any]()
    if is_file(Path(source) / "model.json"):
        model = load_model(Path(source))
    else:
        data = replace(reading, skip_bad=True).read(source)
        bad_rows, left_out = data.report.defect_count, list(data.report.defects)
        model = None
    with spread.open(beside) as engine:
        if model is not None:
            judge = Judge.of_model(model)
        else:
            with working("fitting"):
                judge = cross_fit(all_in_train(data), seed=seed, engine=engine)
        with working("asking about every fact"):
            found = audit_facts(judge if engine is None else judge.on_engine(engine))
            table = audit_table(found, explained, left_out)
    listed = sum(defect.fact is not None for defect in left_out)
    summary = audit_summary(found, table, bad_rows, listed)
    labels = judge.model.dataset.labels
    if out is not None:
        write_audit(summary, table, out, labels)
    if as_json:
        written = None if out is None else str(out)
        print_json({**summary, "first": plain_rows(table.slice(0, top)), "out": written})
    else:
        _print_first(shown_rows(table.slice(0, top), labels))
        tell(f"Probabilities are those {GIVEN}.")
        if listed:
            tell(
                f"Of the rows that were skipped, {listed:,} end before they start: they come first."
            )
        tell(f"{counted(summary['facts'], 'fact')} judged" + (f": {out}" if out else ""))


def _print_first(rows: list[dict[str, Any]]) -> None:
    from apptek.present.wording import percent, when_text
    from apptek.terminal import output, table

    def instead(row: dict[str, Any]) -> str:
        texts = {"direction": "the other direction", "interval": "other dates"}
        if row["finding"] in texts:
            return texts[row["finding"]]
        return f"{row['expected']} ({percent(row['expected_probability'])})"

    shown = [
        (
            f"{row['subject']} | {row['predicate']} | {row['object']}",
            when_text(row["since"], row["until"]),
            instead(row),
        )
        for row in rows
    ]
    output().print(table("Least plausible", ("fact", "when", "expected"), shown), markup=False)
