"""Runs of the command line."""

import os
import subprocess
import sys


def apptek(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a user would, with environment variables on top of the own ones."""
    return subprocess.run(
        [sys.executable, "-c", "from apptek.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
