"""A short version of the standing campaign; `make torture` runs it for an hour."""

from pathlib import Path

import pytest

from benchmarks.torture import NEEDS_MOUNT, ROUND, Campaign
from benchmarks.torture_files import can_mount, models_of
from benchmarks.torture_service import slow_clients

SHORT = {"damaged_models": 150, "damaged_work": 24, "damaged_facts": 3000}
SEED = 900


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("torture")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUND)
def test_an_attack_breaks_nothing(name: str, place: Path) -> None:
    if name in NEEDS_MOUNT and not can_mount():
        pytest.skip("file systems cannot be mounted here")
    campaign, count = Campaign(SEED, place), SHORT.get(name, 2)
    campaign.attack(name, count)
    assert campaign.failures == []
    assert campaign.counts[name].total() == count


@pytest.mark.slow
def test_health_is_answered_beside_slow_and_busy_clients(place: Path) -> None:
    figures = slow_clients(models_of(place)["default"], slow=300, busy=30, seconds=15.0)
    assert figures["health_unanswered"] == []
    assert figures["health_asked"] > 3
    assert set(figures["answers"]) == {"200"}
