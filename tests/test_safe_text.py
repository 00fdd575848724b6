"""Names that try to command a terminal or a spreadsheet."""

import csv
import io
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import refusal, succeeds
from hypothesis import given
from hypothesis import strategies as st

from apptek.safe_text import encodable, printable, printable_lines, without_formulas
from apptek.terminal import output, table, table_text

EVIL = "A\x1b[31mred\x07"


@given(st.text())
def test_nothing_that_is_printed_is_a_control_character(text: str) -> None:
    assert all(c >= " " and c != "\x7f" for c in printable(text))
    assert printable_lines(text).count("\n") == text.count("\n")


def test_a_very_long_cell_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    output().print(table("title", ("name", "number"), [("x" * 5_000, 3), ("a", "y" * 5_000_000)]))
    shown = capsys.readouterr().out
    assert [shown.count(letter) for letter in "xy"] == [999, 999]
    assert shown.count("…") == 2


def test_the_consoles_obey_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    output().print(table(EVIL, ("name", "number"), [(EVIL, 3), ("plain [bold]", 4)]))
    output().print(EVIL, markup=False)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "plain [bold]" in shown


def test_numbers_and_empty_cells_stay_as_they_are() -> None:
    table = pa.table({"name": ["a", None], "number": [-1, 2]})
    assert without_formulas(table).equals(table)


def test_commands_show_such_names_and_do_not_obey_them(tmp_path: Path) -> None:
    lines = [f"{EVIL}\t=do\tB{day % 7}\t2020-01-{day:02d}" for day in range(1, 29)]
    lines += [f"B{day % 5}\tmeet\t{EVIL}\t2020-02-{day:02d}" for day in range(1, 29)]
    (tmp_path / "facts.tsv").write_text("\n".join(lines) + "\n")
    model, out = tmp_path / "model", tmp_path / "answers.csv"
    succeeds("fit", str(tmp_path / "facts.tsv"), "--out", str(model))
    for words in (("predict",), ("explain",), ("explain", "--length", "full")):
        done = succeeds(words[0], str(model), EVIL, "B1", "2020-01-09", *words[1:])
        assert "\x1b" not in done.stdout + done.stderr
    assert "\x1b" not in refusal("predict", str(model), "B1", "B2", "\x1b[31m", code=2)
    (tmp_path / "queries.tsv").write_text(f"{EVIL}\tB1\t2020-01-09\n")
    done = succeeds(
        "predict", str(model), "--queries", str(tmp_path / "queries.tsv"), "--out", str(out)
    )
    with out.open(newline="") as file:
        predicates = {row["predicate"] for row in csv.DictReader(file)}
    assert predicates == {"'=do", "meet"}


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
def test_what_an_encoding_lacks_is_replaced_and_a_minus_stays_one(encoding: str) -> None:
    content = io.BytesIO()
    stream = io.TextIOWrapper(content, encoding)
    encodable(stream)
    stream.write("\N{MINUS SIGN}0.5 ██ \N{CJK UNIFIED IDEOGRAPH-4E2D}")
    stream.flush()
    assert content.getvalue() == b"-0.5 ## ?"
    encodable(None)  # a stream that was closed before the start


def test_a_table_as_text_shows_nothing_by_itself_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *found: shown.append(found))
    assert "a" in table_text("title", ["a"], [["1"]], 40)
    assert not shown
