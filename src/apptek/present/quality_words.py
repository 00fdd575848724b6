"""How good a model is, in words: its top predictions beside those of the baselines."""

from typing import Any

VIEWS = {"all_facts": "With all facts", "past_only": "Only the past"}
BASELINES = {"frequency": "the most frequent predicate", "recency": "counting"}
NO_QUALITY = "there were no held-out facts to measure it on"


def quality_text(quality: dict[str, Any] | None) -> str:
    """Return how often the top prediction was correct, and whether counting does as well."""
    if quality is None:
        return NO_QUALITY
    compared = {name: quality[name] for name in BASELINES if name in quality}
    asked = min(quality["queries"], 100)  # of more than 100 facts, so many of 100
    right, *others = (round(part["hits_at_1"] * asked) for part in (quality, *compared.values()))
    noun = "held-out fact" if asked == 1 else "held-out facts"
    which = f"recent {noun}" if quality["newest"] else noun
    names = (BASELINES[name].removeprefix("the ") for name in compared)
    beside = ", ".join(f"{name}: {count}" for name, count in zip(names, others, strict=True))
    text = f"the top prediction was correct for {right} of {asked} {which} ({beside})"
    for verdict, is_so in (("worse than", _is_worse), ("no better than", _is_no_better)):
        if rivals := [BASELINES[name] for name, part in compared.items() if is_so(part)]:
            text += f"; {verdict} {' or '.join(rivals)}"
    return text


def _is_worse(baseline: dict[str, Any]) -> bool:
    return bool(baseline["interval"][1] < 0)


def _is_no_better(baseline: dict[str, Any]) -> bool:
    low, high = baseline["interval"]
    return bool(low <= 0 <= high)
