"""A project with daily slices of a synthetic dataset, for tests of the daily run."""

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from command_line import apptek, succeeds
from fact_files import in_words

from apptek.synthetic.world import make_world

Row = tuple[str, str, str, str]
QUICK = 'set = ["classifier.epochs=1", "features.past_only=true"]'


def world_rows(facts: int = 3000) -> list[Row]:
    """The dated facts of a world, in order of time."""
    data = make_world(facts, 0).dataset
    rows = [fact[:4] for fact in in_words(data, data.all_facts())]
    return sorted((row for row in rows if row[3] != "?"), key=lambda row: row[3])


def last_days(rows: list[Row], count: int) -> list[str]:
    """The last days with facts."""
    return sorted({row[3] for row in rows})[-count:]


@dataclass(frozen=True)
class DailyProject:
    """A project's folder, its file, and the state that its runs store."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "apptek.toml"

    @property
    def state(self) -> Path:
        return self.folder / "model-forecasts"

    def write(
        self, outputs: dict[str, list[str]] | None = None, data: str = "events.csv", steps: int = 2
    ) -> None:
        """Write the project file; `outputs` are its lists of targets."""
        lists = "\n".join(f"{name} = {value!r}" for name, value in (outputs or {}).items())
        self.file.write_text(
            f'name = "test"\n[source]\ndata = "{data}"\n[model]\n{QUICK}\n'
            f'[watch]\npairs = "pairs.csv"\nsteps = {steps}\nalerts = ["chance > 0.5"]\n'
            f"[outputs]\n{lists}\n",
            encoding="utf-8",
        )

    def write_facts(self, rows: list[Row], until: str = "9999") -> None:
        """Write the facts up to a day as a table, and the most frequent pairs."""
        pairs = Counter((row[0], row[2]) for row in rows).most_common(8)
        lines = [f"{subject},{object_}" for (subject, object_), _ in pairs]
        (self.folder / "pairs.csv").write_text("\n".join(["subject,object", *lines]))
        with (self.folder / "events.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["subject", "predicate", "object", "time"])
            writer.writerows(row for row in rows if row[3] <= until)

    def run(self, day: str, *words: str) -> CompletedProcess[str]:
        """Run the project as of a day."""
        return apptek("run", str(self.file), "--observed-until", day, *words)

    def succeeds(self, day: str, *words: str) -> CompletedProcess[str]:
        """Run the project as of a day; the run must succeed."""
        return succeeds("run", str(self.file), "--observed-until", day, *words)

    def contents(self) -> dict[str, bytes]:
        """Every file in the folder except the source, by path."""
        files = (file for file in self.folder.rglob("*") if file.is_file())
        named = {file.relative_to(self.folder).as_posix(): file for file in files}
        return {
            name: file.read_bytes()
            for name, file in named.items()
            if name not in ("events.csv", "pairs.csv", "apptek.toml") and not name.endswith(".db")
        }
