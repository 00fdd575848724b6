"""The command `audit`: facts that look wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.engine_options import Distribution, distributes
from apptek.commands.options import JsonOption, SeedOption, TopOption, print_json, print_result
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
            help="The file for all facts (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl).",
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
    from apptek.audit.judge import Judge, all_in_train, cross_fit
    from apptek.audit.report import audit_report, audit_table, write_audit
    from apptek.files import check_target, is_file
    from apptek.models.model_folder import load_model
    from apptek.present.tables import check_suffix
    from apptek.results import to_dict
    from apptek.terminal import tell, working

    if out is not None:
        check_suffix(out)
        check_target(out)
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
    report = audit_report(found, table, top, bad_rows)
    if out is not None:
        write_audit(out, report, table)
        tell(f"{counted(report.facts, 'fact')} judged: {out}")
    if as_json:
        print_json(to_dict(report) | {"out": None if out is None else str(out)})
    else:
        print_result(report, as_json=False)
