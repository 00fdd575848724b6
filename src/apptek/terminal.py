"""What a person sees in the terminal: results on stdout, progress and messages on stderr."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

BAR = "█"
ByteReport = Callable[[str, int, int | None], None]  # what, bytes done, bytes in all
StepReport = Callable[[str, int, int], None]  # what was reached, steps done, steps in all


def output() -> Console:
    """Where results go."""
    return Console(highlight=False)


def messages() -> Console:
    """Where everything else goes."""
    return Console(stderr=True, highlight=False)


def tell(text: str) -> None:
    """Prints a line on stderr as it is, brackets included."""
    messages().print(text, soft_wrap=True, markup=False)


def tell_next(*commands: Sequence[str]) -> None:
    """Prints one line on stderr with the commands, of which one is the usual next step."""
    tell(f"next: {', or '.join(shlex.join(['apptek', *words]) for words in commands)}")


@contextmanager
def byte_progress(verb: str) -> Iterator[ByteReport]:
    """A bar of bytes on stderr while the block runs; nothing where that is no terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = messages()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(verb, total=None)

        def report(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=f"{verb} {what}", completed=done, total=total)

        yield report


@contextmanager
def step_progress(verb: str) -> Iterator[StepReport]:
    """A bar of steps on stderr while the block runs; nothing where that is no terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = messages()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(verb, total=None)

        def report(reached: str, done: int, total: int) -> None:
            bar.update(task, description=f"{verb} {reached}", completed=done, total=total)

        yield report


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr while the block runs; nothing where that is no terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = messages()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task(what, total=None)
        yield


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Table | Text:
    """A table with its numbers to the right. Texts are shown as they are, brackets too.

    Where the window is too narrow for its words: its rows as lines.
    """
    texts = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    if _least_width([header, *texts]) > output().width:
        return _as_lines(title, header, texts)
    made = Table(title=Text(title, style="bold"), title_justify="left")
    first = rows[0] if rows else [""] * len(header)
    for name, cell in zip(header, first, strict=True):
        made.add_column(name, justify="right" if isinstance(cell, int) else "left", overflow="fold")
    for row in texts:
        made.add_row(*map(Text, row))
    return made


def _least_width(rows: Sequence[Sequence[str]]) -> int:
    """Of a table in which no word is broken; a bar may be."""
    columns = zip(*rows, strict=True)
    words = [[word for cell in column for word in cell.split()] for column in columns]
    return sum(max((len(w) for w in found if BAR not in w), default=0) + 3 for found in words) + 1


def _as_lines(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Text:
    """A line for each row: its first cell, then the others with their names."""
    made = Text(f"{title}\n", style="bold")
    for row in rows:
        others = [f"{name} {cell}".strip() for name, cell in zip(header, row, strict=True) if cell]
        made.append(
            "\n".join(["", row[0], f"  {', '.join(others[bool(row[0]) :])}"]), style="not bold"
        )
    return made
