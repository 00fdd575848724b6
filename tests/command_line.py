"""Runs of the command line."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

from apptek.cli import main


def apptek(*words: str, **variables: str) -> CompletedProcess[str]:
    """Run a command in this process, with additional environment variables.

    A separate process would spend at least a second on imports alone.
    """
    output, errors = io.StringIO(), io.StringIO()
    code = 0
    with (
        patch.dict(os.environ, variables),
        patch.object(sys, "argv", ["apptek", *words]),
        # Otherwise usage texts name `python -m pytest` as the program.
        patch.object(sys.modules["__main__"], "__package__", None, create=True),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return CompletedProcess(words, code, output.getvalue(), errors.getvalue())


def succeeds(*words: str, **variables: str) -> CompletedProcess[str]:
    """Run a command that must succeed."""
    done = apptek(*words, **variables)
    assert done.returncode == 0, done.stderr
    return done


def answered(*words: str) -> Any:
    """Run a command and parse its JSON output."""
    return json.loads(succeeds(*words, "--json").stdout)


def run_python(code: str, *words: str) -> CompletedProcess[str]:
    """Run a script with these arguments in a separate process; it must succeed."""
    words = (sys.executable, "-c", code, *words)
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def refusal(*words: str, code: int = 1) -> str:
    """Run a command that must end with this exit code, and return its messages."""
    done = apptek(*words)
    assert done.returncode == code, (words, done)
    return done.stderr


def apptek_process(*words: str, **variables: str) -> CompletedProcess[str]:
    """Run a command in a separate process, with additional environment variables."""
    return subprocess.run(
        [sys.executable, "-c", "from apptek.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
