"""The option --engine, with which commands give work to several processes or machines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from apptek.commands.options import option

if TYPE_CHECKING:
    from apptek.engine.engine import Engine

ENGINES: dict[str, Literal["local", "ray"] | None] = {
    "threads": None,
    "processes": "local",
    "ray": "ray",
}
KEYS = ("parts", "storage", "address")
EngineOption = Annotated[
    str | None,
    option(
        "--engine",
        "threads, processes, or ray (a Ray cluster). The results are the same. After the name: "
        "`parts=N` (into how many parts to put the facts), `storage=FOLDER` (a shared folder for "
        "parts and results, kept between runs) and `address=HOST:PORT` (of a Ray cluster), as in "
        "`ray,address=auto,parts=8`. Not for the models max and paper.  [default: threads]",
        "NAME",
    ),
]


@dataclass(frozen=True, slots=True)
class Workers:
    """Where the work of a command runs: what --engine says."""

    engine: Literal["local", "ray"] | None = None
    address: str | None = None
    parts: int | None = None
    storage: Path | None = None

    @classmethod
    def parse(cls, text: str | None) -> "Workers":
        """Read the value of --engine; typer.BadParameter if it is wrong."""
        if text is None:
            return cls()
        name, *words = text.split(",")
        if name not in ENGINES:
            known = ", ".join(ENGINES)
            raise typer.BadParameter(f"--engine {name!r}: expected one of {known}")
        given = dict(word.split("=", 1) for word in words if "=" in word)
        unknown = [word for word in words if word.partition("=")[0] not in KEYS or "=" not in word]
        if unknown or (given and ENGINES[name] is None):
            rule = f"expected {', '.join(f'{key}=VALUE' for key in KEYS)} after processes or ray"
            raise typer.BadParameter(f"--engine {text}: {rule}")
        if not given.get("parts", "1").isdecimal() or int(given.get("parts", 1)) < 1:
            raise typer.BadParameter(f"--engine {text}: parts must be a number from 1")
        return cls(
            ENGINES[name],
            given.get("address"),
            int(given["parts"]) if "parts" in given else None,
            Path(given["storage"]) if "storage" in given else None,
        )

    def check(self, beside: Path) -> None:
        """Raise ApptekError if the engine could not be opened: to be asked before long work."""
        if self.engine is not None:
            from apptek.engine.engine import check_engine

            check_engine(self.engine, self._folder(beside), self.address)

    def _folder(self, beside: Path) -> Path:
        folder = beside.absolute()
        return self.storage or folder.with_name(f".{folder.name}-engine")

    @contextmanager
    def open(self, beside: Path) -> Iterator["Engine | None"]:
        """Open the engine for the length of a block; None for threads. Call `check` before."""
        if self.engine is None:
            yield None
            return
        from apptek.engine.engine import open_engine
        from apptek.terminal import tell

        if self.parts == 1:
            tell("there is one part: every worker opens all facts")
        # Ray tells of workers that died on stdout, which is for results.
        with (
            redirect_stdout(sys.stderr),
            open_engine(
                self.engine,
                self._folder(beside),
                part_count=self.parts,
                address=self.address,
                keep=self.storage is not None,
                tell=tell,
            ) as engine,
        ):
            yield engine
