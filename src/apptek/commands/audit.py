"""The command `audit`: facts that look wrong."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from apptek.commands import options as opt
from apptek.commands.options import option
from apptek.commands.reading_options import Reading
from apptek.safe_text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The options of `audit`."""

    source: Annotated[
        str,
        opt.typer_argument(
            "DATA|MODEL",
            "A folder, a file, a database, a benchmark's name, or a model folder.",
        ),
    ]
    out: Any = option(
        "--out FILE",
        "The output file for all facts (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl), or a "
        "database table (URL#TABLE).",
        parser=opt.file_or_database,
        callback=opt.check_result_file,
    )
    reasons: int = option("--reasons N", "Number of facts to give a reason for.", 1000, min=0)
    top: opt.TopOption = 10
    seed: opt.SeedOption = 0
    as_json: opt.JsonOption = False


@opt.takes_options
def audit(options: AuditOptions, reading: Reading) -> None:
    """List the facts that look wrong, the least plausible first.

    Each fact is hidden in turn and predicted from the others. The list flags unlikely predicates,
    swapped subjects and objects, and impossible dates. A model folder is used as it is. For data,
    several models are fitted, and each fact is judged by a model that was not trained on it. Rows
    that end before they start are listed first; other bad rows are counted.

    Example: `apptek audit world --out suspects.html`
    """
    from apptek.audit.audit import audit_facts
    from apptek.audit.judge import Judge, all_in_train, cross_fit
    from apptek.audit.report import audit_report, audit_table, write_audit
    from apptek.files import is_file
    from apptek.models.model_folder import load_model
    from apptek.terminal import tell, working

    folder, bad_rows, left_out = Path(options.source), 0, list[Any]()
    if is_file(folder / "model.json"):
        judge = Judge.of_model(load_model(folder))
    else:
        data = replace(reading, skip_bad=True).read_data(options.source)
        bad_rows, left_out = data.report.defect_count, list(data.report.defects)
        with working("fitting"):
            judge = cross_fit(all_in_train(data), seed=options.seed)
    with working("scoring every fact"):
        found = audit_facts(judge)
    with working("looking for reasons"):
        table = audit_table(found, options.reasons, left_out)
    report = audit_report(found, table, options.top, bad_rows)
    out = None if options.out is None else str(options.out)
    if out is not None:
        write_audit(options.out, report, table)
        tell(f"{counted(report.facts, 'fact')} judged: {out}")
    opt.print_result(report, as_json=options.as_json, out=out)
