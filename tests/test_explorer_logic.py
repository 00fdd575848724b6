"""The logic of the page without a browser, and its types: deno runs and checks the modules."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPLORER = HERE.parent / "src" / "apptek" / "service" / "explorer"
DENO = shutil.which("deno", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(DENO is None, reason="the logic was NOT tested: no deno here")


def run(*arguments: str) -> None:
    assert DENO is not None
    config = ("--config", str(HERE.parent / "deno.json"), "--no-lock", "--no-remote")
    command = [DENO, arguments[0], *config, *arguments[1:]]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_logic_of_the_page_holds() -> None:
    run("test", "--no-check", str(HERE / "explorer"))


def test_the_types_of_the_page_agree() -> None:
    run("check", str(EXPLORER / "globals.d.ts"), *map(str, sorted(EXPLORER.glob("*.js"))))
