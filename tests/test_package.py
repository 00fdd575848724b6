import pydoc
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import apptek

ROOT = Path(__file__).parents[1]


def test_every_exported_name_is_there() -> None:
    for name in apptek.__all__:
        assert getattr(apptek, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = apptek.nothing


def test_public_names_are_listed_without_being_imported() -> None:
    code = (
        "import apptek, sys; print(dir(apptek)); print([m for m in sys.modules if 'apptek.' in m])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    names, modules = shown.splitlines()
    assert names == repr(sorted(apptek.__all__))
    assert modules == "[]"
    assert "PredicateClassifier" in pydoc.plain(pydoc.render_doc(apptek))


@pytest.mark.slow
def test_the_built_wheel_works_on_its_own(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    place = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(place)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    code = (
        "import sys, apptek\n"
        f"assert apptek.__file__.startswith({str(place)!r}), apptek.__file__\n"
        "from apptek.cli import main\n"
        "sys.argv = ['apptek', 'data', 'make-world', 'world', '--facts', '500']\n"
        "main()"
    )
    subprocess.run(
        [sys.executable, "-P", "-c", code],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(place), "PATH": ""},
    )
    assert (tmp_path / "world" / "train.tsv").exists()
    assert not list(place.rglob("*.nbi"))
    explorer, templates = Path("apptek", "server", "explorer"), Path("apptek/present/templates")
    for file in [*(ROOT / "src" / explorer).rglob("*.*"), *(ROOT / "src" / templates).iterdir()]:
        assert (place / file.relative_to(ROOT / "src")).read_bytes() == file.read_bytes()
    assert (place / explorer / "vendor" / "d3-LICENSE.txt").exists()


def test_no_file_of_the_project_is_data_or_names_a_machine() -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert files
    for file in files:
        moving = file.suffix == ".gif"  # the capture that opens the README
        assert file.stat().st_size < (3_000_000 if moving else 1 << 20), file
        if file.suffix in {".py", ".md", ".toml", ".txt", ".json", ""}:
            text = file.read_text(encoding="utf-8")
            unwanted = re.search(r"(?<!\w)/(root|home|work)/", text)  # paper/work/ is relative
            assert unwanted is None, (file, unwanted)
