"""A model keeps the unit of its times: queries and further facts are read alike."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from command_line import apptek as run
from command_line import succeeds
from fact_files import write


def events(start: datetime, count: int, step: timedelta) -> str:
    """A file of events with times of day, by seed."""
    rng = np.random.default_rng(0)
    lines = ["subject,predicate,object,time"]
    for number in range(count):
        one, other = rng.choice(8, 2, replace=False)
        when = (start + number * step).isoformat(" ")
        lines.append(f"e{one},p{(one + other) % 3},e{other},{when}")
    return "\n".join(lines) + "\n"


def test_a_model_of_hours_reads_times_alike(tmp_path: Path) -> None:
    facts = write(tmp_path / "events.csv", events(datetime(2021, 5, 1), 400, timedelta(minutes=15)))
    model = str(tmp_path / "model")
    fitted = succeeds("fit", str(facts), "--out", model)
    assert "times are read as hours" in fitted.stderr
    succeeds("predict", model, "e1", "e2", "2021-05-03 14:59:07", "--json")
    assert run("predict", model, "e1", "e2", "2021-05-03").returncode == 2
    later = write(tmp_path / "later.csv", events(datetime(2021, 6, 1), 9, timedelta(minutes=1)))
    newer = str(tmp_path / "newer")
    succeeds("update", model, str(later), "--out", newer, "--json")
    about = json.loads(run("info", newer, "--json").stdout)
    assert about["observed_until"] == "2021-06-01 00:00"
