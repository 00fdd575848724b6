"""The command line: all commands by help panel, and how errors become exit codes."""

import atexit
import errno
import gc
import os
import signal
import sys
from contextlib import suppress
from functools import cache
from typing import Annotated, Any

import typer

from apptek import __version__
from apptek.commands.audit import audit
from apptek.commands.command_group import OPTIONS, MainGroup
from apptek.commands.data import data_app
from apptek.commands.evaluate import evaluate
from apptek.commands.explain import explain
from apptek.commands.fit import fit
from apptek.commands.forecast import forecast, watch
from apptek.commands.info import info
from apptek.commands.options import SeedOption, with_engine
from apptek.commands.paper import paper_app
from apptek.commands.predict import predict
from apptek.commands.research import research_app
from apptek.commands.serve import mcp, serve
from apptek.commands.tutorial import tutorial
from apptek.commands.update import run, update
from apptek.errors import (
    ApptekError,
    ArgumentError,
    ConfigError,
    StoppedError,
    TimeFormatError,
    UnknownPredicateError,
)
from apptek.safe_text import encodable, printable, without_passwords

# Newer versions of Typer include their own click. This class works with both.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # from writing to stdout
WRONG_USAGE = (ArgumentError, ConfigError, TimeFormatError, UnknownPredicateError)
OBJECTS_BETWEEN_COLLECTIONS = 100_000
ABOUT = "Which event or relation connects A and B at time t, and why?"

app = typer.Typer(
    name="apptek",
    cls=MainGroup,
    help=ABOUT,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"apptek {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def root(
    _version: Annotated[
        bool,
        typer.Option(  # has its own callback, so that it works without a command
            "--version",
            help="Print the version and exit.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    """Run before every command."""


def demo(seed: SeedOption = 0) -> None:
    """Try APPTeK: fit a model on a small synthetic data set, ask a question and explain the answer.

    This takes about a minute. It also plays one episode of the paper's agent, and writes the
    folder `demo`.

    Example: `apptek demo`
    """
    from apptek.commands.demo import show_demo

    show_demo(seed=seed)


def _tell_error(text: str) -> None:
    typer.echo(f"apptek: {printable(without_passwords(' '.join(text.split())))}", err=True)


def _exit_code(error: ApptekError) -> int:
    if isinstance(error, StoppedError):
        return 130
    return 2 if isinstance(error, WRONG_USAGE) else 1


for panel, commands in {
    "Start here": (demo, tutorial),
    "Make a model": (with_engine(fit), update, run, info, with_engine(evaluate)),
    "Ask a model": (
        with_engine(predict), explain, forecast, with_engine(watch), with_engine(audit), serve, mcp,
    ),
}.items():  # fmt: skip
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(data_app, name="data", rich_help_panel="Data")
app.add_typer(paper_app, name="paper", rich_help_panel="Paper and research")
app.add_typer(research_app, name="research", rich_help_panel="Paper and research")


def main() -> None:
    """Run a command. Print an error that the user can fix as a single line on stderr.

    The exit code is 2 for a wrong command line, 130 for a command stopped by the user, and 1 for
    every other error.
    """
    _collect_garbage_rarely()
    # By default, SIGTERM ends the process at once and would leave temporary folders behind.
    with suppress(ValueError):  # allowed only in the main thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    encodable(sys.stdout)
    encodable(sys.stderr)
    try:
        code = app(standalone_mode=False)
        if sys.stdout is not None:  # None if stdout was closed before the start
            sys.stdout.flush()
        sys.exit(code)
    except USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text
            error.show()
        else:
            _tell_usage_error(error)
        sys.exit(2)
    except typer.Abort:
        _tell_error("stopped")
        sys.exit(130)
    except ApptekError as error:
        _tell_error(str(error))
        sys.exit(_exit_code(error))
    except MemoryError as error:
        _tell_error(f"not enough memory: {error}".removesuffix(": "))
        sys.exit(1)
    except BrokenPipeError:  # the reader of stdout has exited, as in `apptek ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        _tell_os_error(error)
        sys.exit(1)


@cache
def _collect_garbage_rarely() -> None:
    """Skip cyclic garbage collection while a command's modules are imported, and at exit.

    It takes a third of a short command's processor time.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)


def _tell_usage_error(error: Any) -> None:
    """Print one line: the replacement of a removed option, or the error."""
    name = getattr(error, "option_name", None)
    if name in OPTIONS:
        _tell_error(f"{name} was removed; {OPTIONS[name]}")
        return
    where = error.ctx.command_path if error.ctx else "apptek"
    # Typer adds these words to errors about options with a fixed list of values.
    text = error.format_message().replace("Value error, ", "").rstrip(".")
    _tell_error(f"{text}; see `{where} --help`")


def _tell_os_error(error: OSError) -> None:
    """Print one line about a full output or a name that is too long. Raise other errors."""
    if error.errno == errno.ENAMETOOLONG:
        _tell_error(f"{str(error.filename)[:60]}...: {error.strerror}")
        return
    if error.errno not in _UNWRITABLE or error.filename is not None:
        raise error
    # Python must not try to write the rest of the buffer at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _tell_error(f"the output could not be written: {error.strerror}")
