"""The table of the standing campaign: what was tried, how often, and what came of it."""

from collections.abc import Mapping
from typing import Any

from apptek.experiments.reports.markdown import Results, markdown

TORTURE = "torture"
_ATTACKS = {
    "damaged_models": "a file of a model is changed, cut, removed or exchanged",
    "damaged_work": "a file of a stopped fit is damaged, and the fit resumed",
    "damaged_facts": "a damaged file of 16 kinds is read as facts and as queries",
    "bombs": "a small compressed file grows to gigabytes",
    "kills": "a fit is killed at any moment, once or twice, and resumed",
    "cuts": "the power is cut during a fit or an update, or up to 12 s after its start",
    "full_disks": "the disk is full at some moment of a fit or an update",
    "writers": "three updates of one model at once, while two processes read it",
}


def torture_table(results: Results) -> str:
    """Every attack of all recorded campaigns, and the figures of the service under attack."""
    rows = []
    for result in results:
        if result.model != TORTURE:
            continue
        for name, words in _ATTACKS.items():
            if name in result.metrics:
                counts = result.metrics[name]
                came = [f"{what}: {n:,}" for what, n in sorted(counts["outcomes"].items()) if n]
                row = [words, f"{counts['tried']:,}", "; ".join(came), str(counts["failed"])]
                rows.append(row)
        for name, tell in (("slow_clients", _slow), ("load", _load)):
            if name in result.metrics:
                rows.append(tell(result.metrics[name]))
    return markdown(("what was done", "times", "what came of it", "failures"), rows)


def _slow(figures: Mapping[str, Any]) -> list[str]:
    health, answers = figures["health_ms"], figures["answers"]
    clients = f"{figures['slow']:,} clients send a byte a second, {figures['busy']} others ask"
    came = f"health answered within {health['p50']:g} ms (median), {health['p95']:g} ms (95 %), "
    came += f"{health['max']:,.0f} ms at most; {answers.get('200', 0):,} questions answered"
    lost = len(figures["health_unanswered"]) + _others(answers)
    return [f"{clients}, {figures['seconds']:g} s", f"{figures['health_asked']:,}", came, str(lost)]


def _load(figures: Mapping[str, Any]) -> list[str]:
    memory = f"memory {figures['first_mb']:g} MB after a tenth of the time, "
    memory += f"{figures['last_mb']:g} MB at the end ({100 * figures['growth']:+.1f} %)"
    return [
        f"{figures['clients']} clients ask for {figures['minutes']:g} minutes",
        f"{figures['answers'].get('200', 0):,}",
        memory,
        str(_others(figures["answers"])),
    ]


def _others(answers: Mapping[str, int]) -> int:
    """Questions that were not answered with 200."""
    return sum(count for status, count in answers.items() if status != "200")
