import os
import pydoc
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import run_python

import apptek
from apptek.research import provenance
from tools.dependencies import CORE, closure

ROOT = Path(__file__).parents[1]


def test_a_name_that_is_not_exported_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = apptek.nothing


def test_public_names_are_listed_without_being_imported() -> None:
    found = run_python("import apptek, sys; print(dir(apptek)); print([*sys.modules])")
    names, modules = found.stdout.splitlines()
    assert names == repr(sorted(apptek.__all__))
    assert "apptek." not in modules
    assert "PredicateClassifier" in pydoc.plain(pydoc.render_doc(apptek))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the wheel is installed, alone; it was built from the sdist."""
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (wheel,) = folder.glob("*.whl")
    place = folder / "installed"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(place)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    return place


@pytest.mark.slow
def test_the_wheel_has_every_file_and_no_compiled_kernel(installed: Path) -> None:
    assert not list(installed.rglob("*.nbi"))
    explorer, templates = Path("apptek", "server", "explorer"), Path("apptek/present/templates")
    for file in [*(ROOT / "src" / explorer).rglob("*.*"), *(ROOT / "src" / templates).iterdir()]:
        assert (installed / file.relative_to(ROOT / "src")).read_bytes() == file.read_bytes()
    assert (installed / explorer / "vendor" / "d3-LICENSE.txt").exists()
    assert (installed / "apptek" / "py.typed").exists()
    assert len(list((installed / "apptek" / "tutorials").glob("*.ipynb"))) == 10


SERVED = "from apptek.server.served_model import ServedModel as M; served = M.open(Path('model'))"
# What each extra is for; a text that begins with a word of the command line is a command.
TRIED = {
    "": ["watch model --days 7", "audit model --out suspects.csv", "tutorial first-model"],
    "agent": ["paper train world --out agent --set agent.epochs=0.1"],
    "excel": ["watch model --out watch.xlsx"],
    "figures": ["python from apptek.paper.figures import FIGURES; import matplotlib.figure"],
    "gym": ["python import apptek.paper.gym"],
    "max": ["fit world --model max --set reranker.rounds=2 --out trees"],
    "mcp": ["mcp --help", f"python from apptek.server.mcp_server import create_server; {SERVED}"],
    "ray": ["python import ray; from apptek.engine import use_engine"],
    "rdf": ["predict model --queries queries.csv --out answers.ttl"],
    "serve": [f"python {SERVED}; from apptek.server.app import create_app; create_app(served)"],
    "site": ["python import furo, myst_nb, sphinx"],
    "sql": ["watch model --out sqlite:///lists.db#watch"],
}


def run_alone(python: Path, command: str, installed: Path, folder: Path) -> None:
    """Run a command in an environment that has one extra; it must succeed."""
    code = command.removeprefix("python ")
    if code == command:
        words = ["apptek", *shlex.split(command)]
        code = f"import sys; from apptek.cli import main; sys.argv = {words}; main()"
    kernels = str(installed.parent / "kernels")  # compiled once for all
    variables = {"PYTHONPATH": str(installed), "PATH": "", "NUMBA_CACHE_DIR": kernels}
    done = subprocess.run(
        [python, "-P", "-c", f"from pathlib import Path; {code}"],
        cwd=folder, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("extra", TRIED)
def test_each_extra_is_enough_for_what_it_is_for(
    extra: str, installed: Path, tmp_path: Path
) -> None:
    """An environment with nothing but the wheel and what it declares for one extra."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    for about, _ in (closure(CORE) | closure(extra)).values():
        for top in {path.parts[0] for path in about.files or [] if path.parts[0] != ".."}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(about.locate_file(top))))
    (tmp_path / "queries.csv").write_text("subject,object,time\nA,B,2014-01-05\n")
    python = tmp_path / "env" / "bin" / "python"
    for command in ("data make-world world --facts 1200", "fit world --out model", *TRIED[extra]):
        run_alone(python, command, installed, tmp_path)


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {*project["optional-dependencies"], ""} - {"dev"} == set(TRIED)


def test_asking_for_the_commit_writes_nothing_into_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    file, index = tmp_path / "file", tmp_path / ".git" / "index"
    file.write_text("x")
    who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "file"], ["commit", "-qm", "file"]):
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True)
    os.utime(file, (1, 1))  # git would note the new time in its index
    before = index.read_bytes()
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    assert provenance.commit()
    assert index.read_bytes() == before


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
