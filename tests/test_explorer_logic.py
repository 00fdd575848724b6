"""The logic of the page without a browser, run by deno. `make lint` checks its types."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DENO = shutil.which("deno", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(DENO is None, reason="the logic was NOT tested: no deno here")
def test_the_logic_of_the_page_holds() -> None:
    assert DENO is not None
    config = ("--config", str(HERE.parent / "deno.json"), "--no-lock", "--no-remote", "--no-check")
    done = subprocess.run(
        [DENO, "test", *config, str(HERE / "explorer")],
        capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
