"""The documentation site: its scripts run as its pages say, and it is built without a warning."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def run_scripts(page: str) -> None:
    """Run the marked scripts of a page, one after the other, as one program."""
    text = (DOCS / page).read_text("utf-8")
    scripts = re.findall(r"<!-- script -->\n```python\n(.*?)```", text, re.DOTALL)
    assert scripts
    exec(compile("\n".join(scripts), page, "exec"), {"__name__": "page"})


def test_the_model_by_hand_gets_the_numbers_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    run_scripts("history-model.md")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["threatens 1.0378", "visits 1.1064"]
    text = (DOCS / "history-model.md").read_text("utf-8")
    assert all(f"= {line.split()[1]}" in text for line in lines)


@pytest.mark.gate
def test_all_of_it_on_one_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_scripts("all-of-apptek.md")
    shown = capsys.readouterr().out
    assert shown.startswith(
        "Dataset 'world-3000-0': 3,000 facts (train 2,400, valid 300, test 300)"
    )
    assert "that something happens within 30 days" in shown


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img|iframe)[^>]+(?:src|href)="([^"]+)"', page.read_text("utf-8")
        )
        assert not [address for address in loaded if re.match("(https?:)?//", address)], page.name
