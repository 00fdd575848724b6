"""The command `info`: describe a model, check its files, and write the rules it learned."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apptek.commands import options as opt
from apptek.commands.options import option
from apptek.safe_text import counted

MIN_WEIGHT = 0.2  # of a rule, for or against


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoOptions:
    """The options of `info`."""

    model: opt.ModelArgument
    check: bool = option(
        "--check", "Compare every file in the model folder with its checksum.", False
    )
    rules: Path | None = option(
        "--rules FILE", "Write the learned rules with their weight and support (.jsonl, .parquet)."
    )
    as_json: opt.JsonOption = False


@opt.takes_options
def info(options: InfoOptions) -> None:
    """Describe a model or a baseline: its data, its views, and the facts added after fitting.

    `--check` reads every file and compares it with the checksums in the model's `manifest.json`.
    Opening a model does the same for up to 256 MB, and checks only part of a larger model.

    Example: `apptek info model`
    """
    facts: dict[str, Any] = {}
    if options.check:
        facts |= _check(options.model, quiet=options.as_json)
    if options.rules is not None:
        facts |= _write_rules(options.model, options.rules, quiet=options.as_json)
    if not facts:
        facts = _summary(options.model)
        if not options.as_json:
            from apptek.present.metrics_text import summary_text

            opt.print_text(summary_text, str(options.model), facts)
    if options.as_json:
        opt.print_json(facts)


def _summary(folder: Path) -> dict[str, Any]:
    """Return a description of the model, with its newest calibration and its forecasts' score."""
    from apptek.models.manifest import refusing_damage
    from apptek.models.model import summarize
    from apptek.models.model_folder import load_model
    from apptek.models.recalibration import recent_calibration

    loaded = load_model(folder, baselines=True)
    # A report has no fixed structure, so a missing entry is noticed only when it is read.
    with refusing_damage(folder):
        facts = summarize(loaded)
    if facts.get("updates") and (recent := recent_calibration(loaded)):
        facts["recent_calibration"] = recent
        if recent["refit_due"]:
            facts["refit"] = (
                f"due: the model's calibration error is {recent['ece']:.3f} on the newest "
                f"{recent['facts']:,} facts, from {recent['since']} onwards"
            )
    _add_score(facts, folder)
    return facts


def _add_score(facts: dict[str, Any], model: Path) -> None:
    """Add the score of the forecasts that `apptek run` stored, if there is one."""
    from apptek.daily.project import state_of
    from apptek.daily.scores import stored_score
    from apptek.results import to_dict

    score = stored_score(state_of(model.absolute()))
    if score is None or not score.scored:
        return
    about = {"until": score.observed, "runs": score.scored}
    facts["running_score"] = about | to_dict(score.groups["all"])
    if score.refit:
        facts["refit"] = f"due: {score.refit}"


def _check(model: Path, *, quiet: bool) -> dict[str, Any]:
    from apptek.models.manifest import model_digest, verify_folder
    from apptek.terminal import byte_progress, output

    with byte_progress("reading") as report:
        verified = verify_folder(model, report)
    digest, count = model_digest(model), len(verified.contents) + 1  # 1: the file of arrays
    if not quiet:
        text = f"{count:,} files, {verified.size:,} bytes: all match their checksums"
        output().print(f"{text}; digest {digest}", markup=False, soft_wrap=True)
    sizes = {"files": count, "bytes": verified.size}
    return {"model": str(model), **sizes, "digest": digest}


def _write_rules(model: Path, file: Path, *, quiet: bool) -> dict[str, Any]:
    from apptek.models.model_folder import load_model
    from apptek.rules import write_rules
    from apptek.terminal import tell, working

    with working("counting"):
        count = write_rules(load_model(model), file, MIN_WEIGHT)
    if not quiet:
        tell(f"{counted(count, 'rule')}: {file}")
    return {"rules": count, "min_weight": MIN_WEIGHT, "out": str(file)}
