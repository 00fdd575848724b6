"""The options with which commands give work to several processes or machines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from apptek.commands.reading_options import with_options

if TYPE_CHECKING:
    from apptek.engine.engine import Engine


def _option(words: str, help_text: str, metavar: str, **more: Any) -> Any:
    panel = "Several processes or machines"
    return typer.Option(words, metavar=metavar, rich_help_panel=panel, help=help_text, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Who does the work of a command; every field is one of its options."""

    engine: Annotated[
        Literal["local", "ray"] | None,
        _option(
            "--engine",
            "local: processes of this machine; ray: the workers of a Ray cluster. The results are "
            "the same as without it. With the presets max and paper it is refused.",
            "NAME",
        ),
    ] = None
    address: Annotated[
        str | None,
        _option(
            "--address",
            "HOST:PORT of a Ray cluster, or auto; by default one is started on this machine.",
            "ADDRESS",
        ),
    ] = None
    parts: Annotated[
        int | None,
        _option("--parts", "How many parts to put the facts into.  [default: 4]", "P", min=1),
    ] = None
    storage: Annotated[
        Path | None,
        _option(
            "--storage",
            "A folder that all workers see, for parts and results; the parts stay there. One "
            "command uses it at a time. By default one beside what the command writes, for as long "
            "as it runs.",
            "FOLDER",
        ),
    ] = None

    def words(self) -> list[str]:
        """The options that were given."""
        given = (field.name for field in fields(self) if getattr(self, field.name) is not None)
        return [f"--{name}" for name in given]

    def check(self, beside: Path) -> None:
        """An error for options that cannot be meant: to be asked before long work."""
        if self.engine is not None:
            from apptek.engine.engine import check_engine

            check_engine(self.engine, self._folder(beside), self.address)
        elif given := self.words():
            engines = "--engine ray" if given[0] == "--address" else "--engine local or ray"
            raise typer.BadParameter(f"{given[0]} goes with {engines}")

    def _folder(self, beside: Path) -> Path:
        folder = beside.absolute()
        return self.storage or folder.with_name(f".{folder.name}-engine")

    @contextmanager
    def open(self, beside: Path) -> Iterator["Engine | None"]:
        """The engine for the length of a block; None without one. Call `check` before."""
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


def distributes(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of `Distribution` to a command, which gets them as its argument `spread`."""
    return with_options(command, Distribution, "spread", [f.name for f in fields(Distribution)])
