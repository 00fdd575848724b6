import io
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import apptek, apptek_process, run_python, succeeds

from apptek import Predictor, __version__
from apptek.cli import app, main
from apptek.commands import demo
from apptek.commands.demo import FACTS
from apptek.terminal import output, step_progress, table, table_text
from tools.make_docs import PAGES, cli_docs, fields_page, mcp_page, page_with_tables, settings_page
from tools.service_docs import http_fields_page

ROOT = Path(__file__).parents[1]


def examples() -> dict[str, str]:
    """The example of every command, from the page of commands."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = re.findall(r"^#+ `apptek ([a-z -]+)`$", page, re.MULTILINE)
    leaves = [c for c in commands if not any(other.startswith(f"{c} ") for other in commands)]
    texts = {c: page.split(f"`apptek {c}`\n", 1)[1].split("**Usage**", 1)[0] for c in leaves}
    return {c: text.rsplit("Example: `", 1)[-1].strip("`\n") for c, text in texts.items()}


def test_every_command_ends_with_an_example_that_fits_a_line() -> None:
    by_command = examples()
    assert {"data stats", "data download", "data make-world", "demo"} <= set(by_command)
    for command, example in by_command.items():
        assert example.startswith(f"apptek {command}")
        assert len(f" Example: {example}") <= 79


@pytest.mark.gate
def test_the_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served_model: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    by_command = examples()
    for command in (
        "data make-world", "data stats", "data list", "fit", "evaluate", "predict", "explain",
        "update", "info", "audit", "research faithfulness", "forecast", "watch",
        "research contest", "paper reproduce",
    ):  # fmt: skip
        done = succeeds(*shlex.split(by_command[command])[1:])
    assert (tmp_path / "why.html").is_file()
    done = apptek("fit", "world", "--model", "recency", "--out", "recency")
    (following,) = [line for line in done.stderr.splitlines() if line.startswith("next:")]
    assert apptek(*shlex.split(following)[2:]).returncode == 0  # it writes what compare needs
    succeeds(*shlex.split(by_command["research compare"])[1:])
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "model").symlink_to(served_model)  # its example needs topologies
    monkeypatch.chdir(tmp_path / "paper")
    succeeds(*shlex.split(by_command["paper topologies"])[1:])


GENERATED: dict[str, Callable[[], str]] = {
    "docs/cli.md": cli_docs,
    "docs/http-fields.md": http_fields_page,
    "docs/mcp.md": mcp_page,
    "docs/settings.md": settings_page,
    "docs/results-fields.md": fields_page,
    **{page: partial(page_with_tables, page) for page in PAGES},
}


@pytest.mark.parametrize("page", GENERATED)
def test_a_generated_page_is_up_to_date(page: str) -> None:
    assert (ROOT / page).read_text(encoding="utf-8") == GENERATED[page](), "run `make docs`"


def test_help_and_import_load_nothing_heavy() -> None:
    code = (
        "import sys, apptek, apptek.cli\n"
        "heavy = {'torch', 'numba', 'pyarrow', 'numpy', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'{heavy} imported' if heavy else 0)"
    )
    run_python(code)


@pytest.mark.gate
def test_predict_loads_no_library_that_it_does_not_need(forecast_model: Path) -> None:
    entities = Predictor.load(forecast_model).model.dataset.entities
    subject, object_ = entities[0], entities[1]
    words = ["predict", str(forecast_model), subject, object_.upper(), "?"]
    code = (
        "import atexit, sys\n"
        "from apptek.cli import main\n"
        f"sys.argv = ['apptek', *{words!r}]\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "main()\n"
    )
    done = run_python(code)
    unneeded = {"torch", "pandas", "pyarrow.dataset", "fastapi", "jinja2", "lightgbm", "ray",
                "matplotlib", "scipy.sparse", "sklearn", "apptek.explain.explainer", "apptek.paper",
                "apptek.forecast.forecaster", "apptek.models.fitting.pipeline"}  # fmt: skip
    assert not unneeded & set(done.stderr.split())


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("fit", "stopped; run the same command with --resume to continue"),
        ("research contest", "stopped; run the same command to continue"),
        ("paper train", "stopped"),
        ("data stats", "stopped"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_stopped_command_says_how_to_go_on(
    command: str,
    advice: str,
    compiled: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object, **__: object) -> None:
        if compiled:  # as numba reports it from a compiled function
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("apptek.reading.reader.read_dataset", stop)
    out = [] if command == "data stats" else ["--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["apptek", *command.split(), "facts.tsv", *out])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == f"apptek: {advice}"


def test_an_error_of_the_interpreter_is_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SystemError("something else")

    monkeypatch.setattr("apptek.reading.reader.read_dataset", fail)
    monkeypatch.setattr(sys, "argv", ["apptek", "data", "stats", "facts.tsv"])
    with pytest.raises(SystemError):
        main()


def test_a_table_in_a_narrow_window_breaks_no_number() -> None:
    rows = [("all of them", 12_345, "0.7056", "█" * 30), ("", 7, "0.1234", "")]
    text = table_text("A [title]", ("", "queries", "probability", ""), rows, 45)
    assert all(len(line) <= 45 for line in text.splitlines())
    assert all(word in text for word in ("[title]", "12,345", "0.7056", "0.1234"))


def test_a_table_with_many_columns_of_numbers_fits_a_terminal() -> None:
    shares = ("MRR", "Hits@1", "Hits@3", "Hits@10", "ECE")
    header = ("", "queries", *shares, "in 90 % sets", "set size")
    row = ("unseen entity", 9_073, *["0.7056"] * 5, "0.9012", "3.0")
    text = table_text("A title", header, [row], 80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.split().count("0.7056") == 5
    assert {"9,073", "Hits@10", "0.9012", "3.0"} <= set(text.split())
    narrow = table_text("A title", ("number",), [["12345678901234567890"]], 12)
    assert "".join(re.findall(r"\d", narrow)) == "12345678901234567890"  # broken, but not cut


@pytest.mark.gate
@pytest.mark.parametrize("facts", [3_000, pytest.param(FACTS, marks=pytest.mark.slow)])
def test_the_demo_fits_and_explains(
    facts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "FACTS", facts)
    done = succeeds("demo")
    shown = " ".join(done.stdout.split())
    if facts == FACTS:  # enough of them for the paper's model to find the planted rule
        assert "mainly because the pair is connected by" in shown
        assert "provided military aid" in shown
    for name in ("default", "paper"):
        page = tmp_path / "demo" / f"report-{name}.html"
        assert "<svg" in page.read_text(encoding="utf-8")
    assert "One episode of the paper's agent, trained policy" in shown
    assert re.search(r"right kind of event for \d+ of 100 held-out events", shown)
    assert "next: apptek serve demo/default" in shown

    monkeypatch.setattr(demo, "has_torch", lambda: False)
    shown = " ".join(succeeds("demo").stdout.split())
    assert "One episode of the paper's agent, random policy" in shown
    assert "pip install 'apptek[agent]'" in shown
    assert "The model paper answers" not in shown


def test_the_version_needs_no_command() -> None:
    done = apptek_process("--version")
    assert (done.returncode, done.stdout) == (0, f"apptek {__version__}\n")


def test_a_width_of_0_is_an_unknown_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert output().width == 80
    output().print(table("title", ("word " * 30, "b"), [("x" * 90, "y")]))


def test_no_progress_bar_goes_into_a_pipe_even_where_colours_are_forced(world: Path) -> None:
    done = succeeds("data", "stats", str(world), FORCE_COLOR="1")
    assert "\x1b[?25l" not in done.stderr  # the cursor is hidden while a bar is drawn


def test_no_progress_bar_goes_to_a_terminal_that_is_declared_not_to_be_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "0")
    monkeypatch.setenv("TTY_INTERACTIVE", "0")
    errors = io.StringIO()
    monkeypatch.setattr(errors, "isatty", lambda: True)
    with redirect_stderr(errors), step_progress("test") as report:
        report("half done", 1, 2)
    assert errors.getvalue() == ""


@pytest.mark.skipif(os.name == "nt", reason="has no such shell")
def test_a_closed_output_is_no_error() -> None:
    words = f"{sys.executable} -c 'from apptek.cli import main; main()' --version >&-"
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="has no SIGTERM")
def test_a_process_that_is_terminated_removes_its_temporary_folders(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from apptek.cli import main; main()", "data", "stats", "-"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}
    ) as running:
        assert running.stdin is not None
        running.stdin.write(b"a,p,b,2014-01-01\n")
        running.stdin.flush()
        while not list(tmp_path.glob("apptek-*/*")):
            assert running.poll() is None
            time.sleep(0.05)
        running.terminate()
        assert running.wait(60) == 143
    assert list(tmp_path.iterdir()) == []


def named_commands(page: str) -> Iterator[tuple[bool, list[str]]]:
    """The commands that a page names: whether `apptek` stands before it, and its words."""
    texts = re.findall(r"`(?:\$ )?([^`\n]+)`", page)
    texts += [line.split("  ")[0] for line in re.findall(r"^(?:\$ )?(apptek .*)$", page, re.M)]
    for text in texts:
        for part in re.split(r" && | \| ", text):
            words = part.split()
            yield words[:1] == ["apptek"], words[words[:1] == ["apptek"] :]


def test_commands_and_options_that_the_pages_name_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    root: Any = typer.main.get_command(app)
    count = 0
    for file in pages:
        for is_whole, words in named_commands(file.read_text(encoding="utf-8")):
            command, rest = root, words[:]
            while rest and rest[0] in getattr(command, "commands", {}):
                command = command.commands[rest.pop(0)]
            if command is root:  # `apptek --version`, or words of another kind
                assert not is_whole or not words or not words[0].isalpha(), (file.name, words)
                continue
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            given = {word.split("=")[0] for word in rest if word.startswith("--")} - {"--help"}
            assert given <= known, (file.name, words)
            count += is_whole
    assert count > 100
