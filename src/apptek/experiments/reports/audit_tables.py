"""Tables about the audit of facts and about the reasons of answers."""

from typing import Any

from apptek.experiments.reports.markdown import Results, markdown, title_of

AUDIT, FAITHFULNESS = "bench_audit", "faithfulness"
_ERRORS = {
    "predicate, by frequency": ("predicate", ""),
    "predicate, uniformly": ("predicate", "_uniform"),
    "direction": ("direction", ""),
}


def audit_table(results: Results) -> str:
    """How many planted errors an audit finds: AUC / precision, its own and the baseline's."""
    rows = []
    for result in results:
        if result.model != AUDIT:
            continue
        for error, (name, ending) in _ERRORS.items():
            cells = [
                f"{result.metrics[f'{name}_auc{ending}{variant}']:.3f} / "
                f"{result.metrics[f'{name}_precision{ending}{variant}']:.2f}"
                for variant in ("", "_in_list", "_baseline")
            ]
            first = [
                f"{result.metrics[f'{name}_precision_{count}{ending}']:.2f}"
                for count in (100, 1000)
            ]
            rows.append([title_of(result.metrics["data"]), error, *cells, *first])
    header = ("data", "error", "AUC / precision", "in the list", "baseline")
    return markdown((*header, "among the first 100", "among 1,000"), rows)


def faithfulness_table(results: Results) -> str:
    """Whether reasons are true to the model, for each model that was measured."""
    rows = []
    for result in results:
        if result.model != FAITHFULNESS:
            continue
        figures, world = result.metrics, result.extras.get("world")
        rows.append(
            [
                title_of(result.dataset),
                result.extras["of"],
                f"{figures['questions']:,}",
                _percent(figures["cited_beats_random"]),
                f"{figures['cited_drop']:.2f} / {figures['random_drop']:.2f}",
                _percent(figures["sufficiency"]),
                _percent(figures["same_answer"]),
                _percent(figures["same_first_reason"]),
                _percent(world["named"] if world else None),
                _of(figures.get("guesses_as_facts"), figures.get("guesses_told")),
            ]
        )
    header = ("data", "model", "questions", "cited beats random", "log-odds lost: cited / random")
    stability = ("sufficiency", "same answer a day off", "same first reason")
    told = ("planted rule named first", "guessed types told as facts")
    return markdown((*header, *stability, *told), rows)


def _of(part: Any, whole: Any) -> str:
    return "" if part is None else f"{part} of {whole}"


def _percent(share: Any) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
