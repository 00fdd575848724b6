"""Golden files: expected command output in `tests/golden`, compared with the current output.

`GOLDEN=write` in the environment rewrites the files instead of comparing.

Other processors and thread counts round differently, which changes the last digits of weights and
probabilities. Therefore, floats in JSON have six significant digits. A number with decimals or a
percent sign may differ by one unit in its last digit, or by a part in 10,000. Everything else must
be equal: words, counts, dates, ranks and layout.
"""

import difflib
import json
import os
import re
import shlex
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from command_line import apptek

FOLDER = Path(__file__).parent / "golden"
WRITE = "make golden"
WIDTH = 100  # maximum length of a JSON line
MAX_LINES = 200  # maximum length of a displayed difference
ABSOLUTE, RELATIVE = 1e-6, 1e-4
MINUS = "\N{MINUS SIGN}"
NUMBER = re.compile(rf"[+{MINUS}-]?\d[\d,]*(?:\.\d+(?:e[+-]\d+)?|(?= ?%))")


def check(name: str, text: str) -> None:
    """Compare a text with its golden file, or write the file."""
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    file = FOLDER / name
    golden = file.read_text(encoding="utf-8") if file.is_file() else None
    if golden is not None and agree(golden, text):
        return
    text = _with_old_rounding(golden or "", text)
    if _is_writing():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    missing = "" if golden is not None else " (there is no such file)"
    lines = difflib.unified_diff(
        (golden or "").splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm="", n=2
    )
    shown = "\n".join([*lines][:MAX_LINES])
    raise AssertionError(
        f"not the text of tests/golden/{name}{missing}:\n{shown}\n\n"
        f"If the change is meant, rewrite the files and read their diff:\n  {WRITE}"
    )


def check_names(names: set[str]) -> None:
    """Check that every golden file has a test, or remove the files that have none."""
    files = {file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*") if file.is_file()}
    stale = sorted(files - names)
    if _is_writing():
        for name in stale:
            (FOLDER / name).unlink()
        return
    assert not stale, f"no test compares {', '.join(stale)}; remove these files with\n  {WRITE}"


def _is_writing() -> bool:
    return os.environ.get("GOLDEN") == "write"


def _with_old_rounding(golden: str, text: str) -> str:
    """Replace lines that agree with golden ones, so that a difference shows only real changes."""
    before, now = golden.splitlines(), text.splitlines()
    old_shapes, shapes = ([NUMBER.sub("0", one) for one in lines] for lines in (before, now))
    blocks = difflib.SequenceMatcher(None, old_shapes, shapes).get_matching_blocks()
    for start, other_start, size in blocks:
        for row in range(size):
            if agree(before[start + row], now[other_start + row]):
                now[other_start + row] = before[start + row]
    return "\n".join(now) + "\n"


def agree(golden: str, text: str) -> bool:
    """Whether two texts are equal except for rounding and the bars drawn from numbers."""
    if golden == text:
        return True
    bars = [[line.count("█") for line in one.splitlines()] for one in (golden, text)]
    golden, text = (re.sub(r" +$", "", one.replace("█", " "), flags=re.M) for one in (golden, text))
    return (
        NUMBER.sub("0", golden) == NUMBER.sub("0", text)
        and all(abs(before - now) <= 1 for before, now in zip(*bars, strict=True))
        and all(map(_close, NUMBER.findall(golden), NUMBER.findall(text)))
    )


def _close(golden: str, text: str) -> bool:
    before, now = (Decimal(one.replace(MINUS, "-").replace(",", "")) for one in (golden, text))
    unit = 10.0 ** max(int(one.as_tuple().exponent) for one in (before, now))
    return abs(float(before - now)) <= max(1.01 * unit, ABSOLUTE, RELATIVE * abs(float(before)))


def transcript(*words: str) -> str:
    """A command and its output."""
    done = apptek(*words)
    errors = f"--- stderr\n{done.stderr}" if done.stderr else ""
    code = f"--- exit code {done.returncode}\n" if done.returncode else ""
    text = f"$ {shlex.join(['apptek', *words])}\n{done.stdout}{errors}{code}"
    return text.replace(str(Path.cwd()), "FOLDER")


def answers(commands: list[str]) -> str:
    """The output of commands with --json."""
    by_command = {}
    for command in commands:
        done = apptek(*shlex.split(command), "--json")
        assert done.returncode == 0, (command, done.stderr)
        by_command[command] = json.loads(done.stdout)
    return json_text(by_command)


def json_text(value: Any, indent: str = "") -> str:
    """A value as JSON, with six significant digits and short values on a single line."""
    if isinstance(value, float):
        text = f"{value:#.6g}"
        return f"{text}0" if text.endswith(".") else text
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent} "
    if isinstance(value, dict):
        start, end = "{}"
        parts = [f"{json.dumps(key)}: {json_text(one, inner)}" for key, one in value.items()]
    else:
        start, end = "[]"
        parts = [json_text(one, inner) for one in value]
    line = f"{start}{', '.join(parts)}{end}"
    if "\n" not in line and len(indent) + len(line) <= WIDTH:
        return line
    return f"{start}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{end}"


def page_text(html: str) -> str:
    """The words on a page, one text per line, including text for screen readers only."""
    reader = _Words()
    reader.feed(html)
    reader.close()
    return "\n".join(reader.words)


class _Words(HTMLParser):
    """Collects the words on a page without its styles."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_style = tag in {"style", "script"}
        shown = {"alt", "aria-label", "title", "placeholder"}
        self.words += [f"{name}: {value}" for name, value in attrs if name in shown]

    def handle_endtag(self, tag: str) -> None:
        self.is_style = False

    def handle_data(self, data: str) -> None:
        if data.strip() and not self.is_style:
            self.words.append(" ".join(data.split()))
