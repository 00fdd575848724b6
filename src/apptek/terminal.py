"""The output of commands: results as tables on stdout, progress and messages on stderr."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from typing import Literal

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from apptek.safe_text import printable, printable_lines

BAR = "█"
LONGEST_CELL = 1_000  # maximum characters of a cell to show
SHORT = 8  # characters of a cell that is never broken, such as 27.8 %
LONGEST_WORD = 24  # letters in a word that is never broken
ByteReport = Callable[[str, int, int | None], None]  # file, bytes done, total bytes
StepReport = Callable[[str, int, int], None]  # state, steps done, total steps


class SafeConsole(Console):
    """A console that replaces control characters in names instead of obeying them."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Return the segments to show. rich's control codes are separate segments."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable_lines(text), style)


def output() -> Console:
    """Return the console for results: stdout."""
    return _console(stderr=False)


def messages() -> Console:
    """Return the console for everything else: stderr."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = SafeConsole(stderr=stderr, highlight=False)
    if console.width < 1:  # COLUMNS=0: the width is unknown
        console.width = 80
    return console


def tell(text: str) -> None:
    """Print a line on stderr unchanged, including brackets."""
    messages().print(text, soft_wrap=True, markup=False)


def tell_next(*commands: Sequence[str]) -> None:
    """Print one line on stderr with commands for the usual next steps."""
    tell(f"next: {', or '.join(shlex.join(['apptek', *words]) for words in commands)}")


@contextmanager
def progress_bar(*columns: ProgressColumn) -> Iterator[Progress]:
    """Show a progress bar on stderr during the block, or nothing if stderr is not a terminal."""
    # The stream decides: with FORCE_COLOR, as in Jupyter, rich takes a pipe for a terminal.
    console = messages()
    is_shown = sys.stderr.isatty() and console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as bar:
        yield bar


def byte_progress(verb: str) -> AbstractContextManager[ByteReport]:
    """Show a progress bar in bytes during the block."""
    return _reports(verb, DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())


def step_progress(verb: str) -> AbstractContextManager[StepReport]:
    """Show a progress bar in steps during the block."""
    return _reports(verb, MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())


@contextmanager
def _reports(verb: str, *columns: ProgressColumn) -> Iterator[ByteReport]:
    with progress_bar(TextColumn("{task.description}"), BarColumn(), *columns) as bar:
        task = bar.add_task(verb, total=None)

        def report(state: str, done: int, total: int | None) -> None:
            bar.update(task, description=f"{verb} {state}", completed=done, total=total)

        yield report


@contextmanager
def stage_progress(what: str) -> Iterator[StepReport]:
    """Print a line when each stage begins, and show a progress bar for its steps."""
    last = ""
    with step_progress(what) as show:

        def report(stage: str, done: int, total: int) -> None:
            nonlocal last
            if stage != last:
                tell(f"{what}: {stage}")
            last = stage
            show(stage, done, total)

        yield report


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner during the block."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with progress_bar(*columns) as bar:
        bar.add_task(what, total=None)
        yield


def table_text(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], width: int
) -> str:
    """Return a table as plain text."""
    # Not as in Jupyter, where rich would also show an empty output.
    console = SafeConsole(
        file=StringIO(), width=width, highlight=False, color_system=None, force_jupyter=False
    )
    shown, unbounded = table(title, header, rows), console.options.update(max_width=100_000)
    if console.measure(shown, options=unbounded).minimum > width:  # words would be cut
        shown.box, shown.padding, shown.pad_edge = box.SIMPLE_HEAD, (0, 1, 0, 0), False
    if console.measure(shown, options=unbounded).minimum > width:
        for column in shown.columns:
            column.no_wrap = False  # broken, but not cut
    with console.capture() as capture:
        console.print(shown, markup=False)
    return capture.get().rstrip("\n")


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table with right-aligned numbers. Brackets are text, not markup.

    A tuple as a cell has details: its other items are shown indented below the first.
    """
    # Replace unprintable characters before measuring widths, because their own width may be 0.
    texts = [[_texts(cell) for cell in row] for row in rows]
    shown = Table(title=Text(title, style="bold"), title_justify="left")
    first = rows[0] if rows else [""] * len(header)
    for name, value, *cells in zip(header, first, *texts, strict=True):
        # Rich shrinks whatever may wrap, and would break words and numbers. Long words may break:
        # what does not fit and may not wrap would be cut.
        longest = max([text for cell in cells for text in cell], key=len, default="")
        is_short = len(longest) <= SHORT or (len(longest) <= LONGEST_WORD and " " not in longest)
        is_whole = is_short and BAR not in longest
        justify: Literal["left", "right"] = "right" if isinstance(value, int) else "left"
        shown.add_column(name, justify=justify, overflow="fold", no_wrap=is_whole)
    for row in texts:
        shown.add_row(*map(_cell, row))
    return shown


def _texts(value: object) -> list[str]:
    """Return a cell's text and details."""
    if isinstance(value, tuple):
        return [_shown(str(part)) for part in value if part]
    return [f"{value:,}" if isinstance(value, int) else _shown(str(value))]


def _cell(texts: list[str]) -> RenderableType:
    first, *details = map(Text, texts)
    return Group(first, *(Padding(text, (0, 0, 0, 2)) for text in details)) if details else first


def _shown(cell: str) -> str:
    """Return a cell's text, cut if wrapping it would take minutes."""
    cut = cell if len(cell) <= LONGEST_CELL else cell[: LONGEST_CELL - 1] + "…"
    return printable(cut)
