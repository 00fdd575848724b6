"""The tables of what was tried for pairs never seen, and of what new names are worth."""

from collections.abc import Mapping
from typing import Any

from apptek.experiments.reports.markdown import Results, markdown, title_of
from apptek.experiments.result import Result

COLD_PAIRS = "cold_pairs"
PRESET = "default"
NOTHING_KNOWN, READ = "new names, nothing known", "new names, read"
Trial = Mapping[str, Any]


def cold_pairs_table(results: Results) -> str:
    """The MRR on unseen pairs, and of all queries in brackets: of the preset, then differences."""
    columns = [(result, view) for result in _measured(results) for view in _views(result)]
    by_place = [_by_name(result, view) for result, view in columns]
    names = dict.fromkeys(name for trials in by_place for name in trials)
    rows = []
    for name in (name for name in names if name not in (NOTHING_KNOWN, READ)):
        key, form = ("mrr", "{:.4f}") if name == PRESET else ("difference", "{:+.4f}")
        words = "the default preset" if name == PRESET else f"`{name}`"
        rows.append([words, *(_pair_cell(trials.get(name), key, form) for trials in by_place)])
    titles = [f"{_title(result)}, {view}" for result, view in columns]
    return markdown(("trial", *titles), rows)


def _pair_cell(trial: Trial | None, key: str, form: str) -> str:
    if trial is None:
        return ""
    cold, every = (form.format(trial[group][key]) for group in ("unseen_pair", "all"))
    return f"{cold} ({every})"


def new_names_table(results: Results) -> str:
    """The MRR on unseen entities whose names are in no vocabulary, read and not read."""
    rows = []
    for result in _measured(results):
        for view in _views(result):
            trials = _by_name(result, view)
            first, read = (
                trials.get(name, {}).get("unseen_entity") for name in (NOTHING_KNOWN, READ)
            )
            if first is not None and read is not None:
                figures = [f"{of_trial['mrr']:.4f}" for of_trial in (first, read)]
                gain = f"{read['mrr'] - first['mrr']:+.4f}"
                rows.append([_title(result), view, f"{read['queries']:,}", *figures, gain])
    header = ("data", "view", "queries", "nothing known", "read from the name", "difference")
    return markdown(header, rows)


def _measured(results: Results) -> list[Result]:
    return [result for result in results if result.model == COLD_PAIRS]


def _title(result: Result) -> str:
    l2 = result.settings["classifier"]["l2"]
    return title_of(result.dataset) + (" with l2" if max(l2) > 0 else "")


def _views(result: Result) -> list[str]:
    return list(dict.fromkeys(trial["view"] for trial in result.extras["trials"]))


def _by_name(result: Result, view: str) -> dict[str, Trial]:
    return {trial["trial"]: trial for trial in result.extras["trials"] if trial["view"] == view}
