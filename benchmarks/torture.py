"""The torture campaign: `make torture` (an hour), or a given number of attacks of each type.

    python -m benchmarks.torture --minutes 60 --seed 0 --result torture.json
    python -m benchmarks.torture --counts damaged_models=1000,cuts=20 --model MODEL

It ends with exit code 1 if anything crashed, hung, was lost or answered differently. Each line on
stderr names the attack and the seed that reproduces it.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apptek.research import provenance
from apptek.research.result import Result, write_result
from benchmarks import torture_files, torture_service
from benchmarks.torture_files import Attack, can_mount, models_of

# The number of seeds for each attack in one round.
ROUND: dict[str, int] = {
    "damaged_models": 90,
    "damaged_work": 24,
    "damaged_facts": 1000,
    "bombs": 2,
    "kills": 6,
    "cuts": 4,
    "full_disks": 4,
    "writers": 2,
}
NEEDS_MOUNT = ("cuts", "full_disks")
SEEDS = 1_000_000  # between the seeds of two campaigns
SERVICE = {"slow": 1200, "busy": 200, "seconds": 60.0}


def attack_of(name: str) -> Attack:
    """Return an attack by name."""
    attack: Attack = getattr(torture_files, name)
    return attack


class Campaign:
    """The attacks tried so far, and their outcomes."""

    def __init__(self, seed: int, place: Path) -> None:
        self.place, self.first = place, seed * SEEDS
        self.counts: dict[str, Counter[str]] = {}
        self.failures: list[str] = []

    def attack(self, name: str, count: int) -> None:
        """Try the next seeds of an attack."""
        seen = self.counts.setdefault(name, Counter())
        start = self.first + sum(seen.values())
        for outcome in attack_of(name)(range(start, start + count), self.place):
            seen[outcome.what if outcome.good else "failed"] += 1
            if not outcome.good:
                self.failures.append(f"{name} {outcome.seed}: {outcome.what}")
                print(self.failures[-1], file=sys.stderr, flush=True)

    def result(self, seed: int, settings: dict[str, Any], figures: dict[str, Any]) -> Result:
        """Return the outcomes as a result file."""
        counts = {
            name: {"tried": sum(seen.values()), "failed": seen["failed"], "outcomes": dict(seen)}
            for name, seen in self.counts.items()
        }
        return Result(
            model="torture",
            seed=seed,
            settings={"campaign": settings},
            metrics=counts | figures,
            extras={"failures": self.failures},
            **provenance.about_run(),
        )


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--counts", default="", help="name=number,...: these and no others")
    parser.add_argument("--model", type=Path, help="the model that is served; else a small one")
    parser.add_argument("--no-service", action="store_true", help="no slow clients")
    parser.add_argument("--result", type=Path)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run the campaign."""
    options = parse(words)
    wanted = {
        name: int(number)
        for name, number in (part.split("=") for part in options.counts.split(",") if part)
    }
    figures: dict[str, Any] = {}
    with TemporaryDirectory(prefix="apptek-torture-") as temporary:
        campaign = Campaign(options.seed, Path(temporary))
        names = [name for name in ROUND if can_mount() or name not in NEEDS_MOUNT]
        end = time.monotonic() + 60 * options.minutes
        for name, number in wanted.items():
            while (left := number - sum(campaign.counts.get(name, Counter()).values())) > 0:
                campaign.attack(name, min(left, 2000))
        while not options.counts and time.monotonic() < end:
            for name in names:
                if time.monotonic() < end:
                    campaign.attack(name, ROUND[name])
        served = options.model or models_of(campaign.place)["default"]
        if not options.no_service:
            figures["slow_clients"] = torture_service.slow_clients(served, **SERVICE)  # type: ignore[arg-type]
            campaign.failures += figures["slow_clients"]["health_unanswered"]
        settings = {"minutes": options.minutes, "counts": wanted, "mounting": can_mount()}
        result = campaign.result(options.seed, settings, figures)
    if options.result is not None:
        write_result(options.result, result)
    for name, count in result.metrics.items():
        print(f"{name}: {count}")
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
