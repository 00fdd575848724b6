"""The documentation site: its scripts run as its pages say, and it is built without a warning."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fact_files import in_words

from apptek import make_world

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


@pytest.mark.gate
def test_the_python_of_the_readme_runs_and_it_stays_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 150
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    world = make_world(2000, 0).dataset
    facts = in_words(world, world.all_facts())
    names = {facts[0][0]: "Boko Haram", facts[0][2]: "Citizen (Nigeria)"}
    rows = [
        f'"{names.get(s, s)}","{p}","{names.get(o, o)}",{time}'
        for s, p, o, time, _ in facts
        if time != "?"
    ]
    lines = ["subject,predicate,object,time", *rows]
    (tmp_path / "events.csv").write_text("\n".join(lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "README.md", "exec"), {"__name__": "page"})
    shown = capsys.readouterr().out
    assert "Boko Haram | ? | Citizen (Nigeria) | 2015-01-03" in shown
    assert "chance that something happens" in shown
