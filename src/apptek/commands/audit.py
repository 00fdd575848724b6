"""The command `audit`: facts that look wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from apptek.commands import options as opt
from apptek.commands.reading_options import Reading, reads_data
from apptek.safe_text import counted


@reads_data
def audit(
    source: Annotated[
        str,
        opt.argument(
            "DATA|MODEL",
            "A folder, a file, a database, the name of a benchmark, or a model folder.",
        ),
    ],
    out: Annotated[
        Any,
        opt.option(
            "--out",
            "A file for all facts (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl), or a table "
            "of a database (URL#TABLE).",
            "FILE",
            parser=opt.file_or_database,
            callback=opt.check_result_file,
        ),
    ] = None,
    explained: Annotated[
        int, opt.option("--reasons", "Number of facts that get a reason.", "N", min=0)
    ] = 1000,
    top: opt.TopOption = 10,
    seed: opt.SeedOption = 0,
    as_json: opt.JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Find the facts of a graph that look wrong, the least plausible first.

    The model hides each fact in turn and predicts it. The list flags unlikely predicates,
    swapped subject and object, and impossible dates. A model folder is used as it is; data is
    fitted first, so that no model judges a fact that it has learned. Rows that end before they
    start come first in the list; other bad rows are counted.

    Example: `apptek audit world --out suspects.html`
    """
    from apptek.audit.report import audit_report, audit_table, write_audit
    from apptek.terminal import tell, working

    model, data = _open(source, reading)
    bad_rows, left_out = (
        (0, []) if data is None else (data.report.defect_count, data.report.defects)
    )
    found = _judge(model, data, seed)
    with working("looking for reasons"):
        table = audit_table(found, explained, list(left_out))
    report = audit_report(found, table, top, bad_rows)
    if out is not None:
        write_audit(out, report, table)
        tell(f"{counted(report.facts, 'fact')} judged: {out}")
    opt.print_result(report, as_json=as_json, out=None if out is None else str(out))


def _open(source: str, reading: Reading) -> tuple[Any, Any]:
    """Return the model of a folder, or else the data; the other one is None."""
    from apptek.files import is_file
    from apptek.models.model_folder import load_model

    if is_file(Path(source) / "model.json"):
        return load_model(Path(source)), None
    return None, replace(reading, skip_bad=True).read(source)


def _judge(model: Any, data: Any, seed: int) -> Any:
    """Score every fact by a model, or by models that are fitted without it."""
    from apptek.audit.audit import audit_facts
    from apptek.audit.judge import Judge, all_in_train, cross_fit
    from apptek.terminal import working

    if model is not None:
        judge = Judge.of_model(model)
    else:
        with working("fitting"):
            judge = cross_fit(all_in_train(data), seed=seed)
    with working("scoring every fact"):
        return audit_facts(judge)
