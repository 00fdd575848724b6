"""Random damage to files of facts and queries, and the outcome of reading them.

As a program, it works through a range of seeds in a separate process, because the damage might end
it. It prints how many files were read, how many were rejected, and the peak memory in bytes:

python reader_mutations.py first last
"""

import json
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from event_dumps import ACLED, ICEWS, gdelt
from fact_files import compress, parquet_bytes
from peak_memory import peak_bytes
from sheets import Formula, write_sheets

from apptek.errors import DataError
from apptek.models.asked_queries import read_rows
from apptek.reading.frames import QUERY_ROLES
from apptek.reading.reader import read_dataset

Rng = np.random.Generator
Mutation = Callable[[bytes, Rng], bytes]
READ, REFUSED = "read", "refused"
_TIMES = (
    *("2014-05-13", "20140513", "1999", "1999-##-##", "13.05.2014", "05/13/2014", "03/05/2014"),
    *("2014-05-13 14:22:00", "2014-05-13T14:22Z", "2014-05-13T23:59+02:00", "17", "", "?"),
)
_PIECES = (
    *(b"", b"\0", b"\n", b"\r\n", b"\r", b'"', b",", b"\t", b";", b"|", b" ", b"\xff", b"\xc3\xa9"),
    *(b"\xe9", b"\xef\xbb\xbf", b"\xff\xfe", b"{", b"}", b"[" * 500, b"\\ud800", b"NaN", b"null"),
    *(b"1e999", b"9" * 400, b"-1", b"subject", b"time", b"<occursSince>", b"####-##-##"),
    *(time.encode() for time in _TIMES),
    *(b"99999-12-31", b"0000-00-00", b"2021-02-30T25:61", b"a" * 300),
)


def _rows(rng: Rng, form: str) -> bytes:
    """Valid rows of text, with times that are usually consistent."""
    time = _TIMES[rng.integers(len(_TIMES))]
    header = form.join(("subject", "predicate", "object", "time")) if rng.random() < 0.5 else ""
    lines = [header] if header else []
    for number in range(int(rng.integers(1, 12))):
        cells = [f"e{number % 4}", f"p{number % 3}", f"o{number % 5}", time]
        if not header and rng.random() < 0.2:
            cells = cells[:3] if rng.random() < 0.5 else [*cells, time]
        lines.append(form.join(cells))
    return ("\n".join(lines) + "\n").encode()


def _json(rng: Rng) -> bytes:
    time: Any = _TIMES[rng.integers(len(_TIMES))] if rng.random() < 0.7 else 2001
    rows = [
        {"subject": f"e{n}", "predicate": "p", "object": n if n % 2 else "o", "time": time}
        for n in range(int(rng.integers(1, 8)))
    ]
    return "\n".join(json.dumps(row) for row in rows).encode()


def _parquet(rng: Rng) -> bytes:
    count = int(rng.integers(1, 30))
    moments = [datetime(2014, 5, 1 + n % 28, n % 24) for n in range(count)]
    times: list[Any] = [
        pa.array(moments, pa.timestamp("ns")),
        pa.array(moments, pa.timestamp("ms", "Europe/Berlin")),
        pa.array(moments).cast(pa.date64(), safe=False),
        pa.array([2000.0] * count),
        pa.array(["2014-05-13"] * count).dictionary_encode(),
    ]
    names = [f"e{n % 4}" for n in range(count)]
    return parquet_bytes(
        subject=names, predicate=names, object=names, time=times[rng.integers(len(times))]
    )


def _sheet(_rng: Rng) -> bytes:
    with TemporaryDirectory() as folder:
        rows: list[list[Any]] = [
            ["subject", "predicate", "object", "time"],
            ["a", "p", Formula("A1|b"), date(2014, 5, 13)],
            ["a", "p", "c", datetime(2014, 5, 13, 14)],
        ]
        path = write_sheets(Path(folder) / "x.xlsx", {"A": rows, "B": rows})
        return path.read_bytes()


def _zip(rng: Rng) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("facts.tsv", _rows(rng, "\t"))
    return content.getvalue()


def _ids(rng: Rng) -> bytes:
    rows = ["\t".join(map(str, (*rng.integers(0, 3, 3), 24 * n, 0))) for n in range(5)]
    return ("\n".join(rows) + "\n").encode()


KINDS: dict[str, Callable[[Rng], bytes]] = {
    "facts.tsv": lambda rng: _rows(rng, "\t"),
    "facts.txt": lambda rng: _rows(rng, " |;,"[rng.integers(4)]),
    "facts.csv": lambda rng: _rows(rng, ",;|\t"[rng.integers(4)]),
    "old.csv": lambda rng: _rows(rng, ";").replace(b"e1", "Zo\u00eb".encode("cp1252")),
    "wide.csv": lambda rng: _rows(rng, ";").decode().encode("utf-16"),
    "facts.csv.gz": lambda rng: compress(_rows(rng, ","), ".gz"),
    "facts.tsv.zst": lambda rng: compress(_rows(rng, "\t"), ".zst"),
    "facts.tsv.zip": _zip,
    "facts.jsonl": _json,
    "facts.parquet": _parquet,
    "facts.xlsx": _sheet,
    "x.export.CSV": lambda _: gdelt().encode(),
    "icews.tab": lambda _: ICEWS.encode(),
    "acled.csv": lambda _: ACLED.encode(),
    "ids/train.txt": _ids,
}


def _flip(content: bytes, rng: Rng) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(len(content), size=int(rng.integers(1, 5))):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def _cut(content: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(len(content)))]


def _remove(content: bytes, rng: Rng) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + content[start + int(rng.integers(1, 40)) :]


def _repeat(content: bytes, rng: Rng) -> bytes:
    start, length = int(rng.integers(len(content))), int(rng.integers(1, 60))
    part = content[start : start + length]
    return content[:start] + part * int(rng.integers(2, 50)) + content[start:]


def _insert(content: bytes, rng: Rng) -> bytes:
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(content) + 1))
        content = content[:place] + _PIECES[rng.integers(len(_PIECES))] + content[place:]
    return content


def _swap_cells(content: bytes, rng: Rng) -> bytes:
    """Replace the text between two delimiters with something else."""
    for mark in (b"\t", b",", b";", b'"', b"|"):
        places = [place for place, byte in enumerate(content) if byte == mark[0]]
        if len(places) > 1:
            number = int(rng.integers(len(places) - 1))
            piece = _PIECES[rng.integers(len(_PIECES))]
            return content[: places[number] + 1] + piece + content[places[number + 1] :]
    return content


MUTATIONS: tuple[Mutation, ...] = (_flip, _flip, _cut, _remove, _repeat, _insert, _swap_cells)


def _some_options(rng: Rng) -> dict[str, Any]:
    """Usually no options; each one sometimes."""
    choices: dict[str, tuple[Any, ...]] = {
        "skip_bad": (True, True, False),
        "granularity": ("auto", "hour", "week", "year", "second"),
        "date_format": ("", "%d.%m.%Y", "%Y-%m-%dT%H:%M%z"),
        "delimiter": ("", ";", "tab"),
        "encoding": ("", "latin-1", "utf-16", "utf-8"),
        "columns": (None, "subject=1,predicate=2,object=3,time=4", "subject,predicate,object"),
        "header": (None, True, False),
        "format": ("", "gdelt", "icews", "acled"),
        "sheet": ("", "2", "B"),
    }
    return {
        name: values[rng.integers(len(values))]
        for name, values in choices.items()
        if rng.random() < 0.15 or name == "skip_bad"
    }


def damage_and_read(seed: int, folder: Path) -> str:
    """Damage a file of one type and read it; return the outcome. Other errors are not caught."""
    rng = np.random.default_rng(seed)
    name = list(KINDS)[seed % len(KINDS)]
    content = KINDS[name](rng)
    for _ in range(int(rng.integers(0, 4))):
        if content:
            content = MUTATIONS[rng.integers(len(MUTATIONS))](content, rng)
    if name.endswith((".gz", ".zst")) and rng.random() < 0.5:
        # Intact, but with damaged content: otherwise hardly any would be decompressed.
        inner = _insert(_rows(rng, "\t"), rng)
        content = compress(_flip(inner, rng), Path(name).suffix)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    for table, text in (("entity2id.txt", b"A\t0\nB\t1\nC\t2\n"), ("relation2id.txt", b"p\t0\n")):
        if name == "ids/train.txt":
            damaged = _insert(text, rng) if rng.random() < 0.2 else text
            (path.parent / table).write_bytes(damaged)
    source = path.parent if name == "ids/train.txt" else path
    try:
        encoding = {"encoding": "windows-1252"} if name == "old.csv" else {}
        dataset = read_dataset(source, **encoding | _some_options(rng))
    except DataError as error:
        _check_message(error)
        outcome = REFUSED
    else:
        assert len(dataset.all_facts())
        dataset.describe(dataset.train, 0)
        outcome = READ
    try:
        for _ in read_rows(path, QUERY_ROLES):
            pass
    except DataError as error:
        _check_message(error)
    return outcome


def _check_message(error: DataError) -> None:
    assert len(str(error).splitlines()) == 1, str(error)


def main() -> None:
    """Print each seed before it is tried, and the counts at the end."""
    first, last = map(int, sys.argv[1:])
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        for seed in range(first, last):
            print(seed, file=sys.stderr, flush=True)  # noqa: T201 - it may be the last
            counts[damage_and_read(seed, Path(folder))] += 1
    print(json.dumps(dict(counts) | {"memory": peak_bytes()}))  # noqa: T201


if __name__ == "__main__":
    main()
