"""Small fact files for tests, and their content as text."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from apptek.errors import DataError
from apptek.facts.facts import Dataset, Facts
from apptek.facts.protocols import Splitting
from apptek.reading.reader import read_dataset

ReadFact = tuple[str, str, str, str, str]  # subject, predicate, object, since, until
ALL_IN_TRAIN = Splitting(train=1, valid=0)
DAY = "2014-05-13"
FACT: ReadFact = ("a", "p", "b", DAY, DAY)


def write(path: Path, content: bytes | str) -> Path:
    """Write a file with this content, compressed according to its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        compress(content.encode() if isinstance(content, str) else content, path.suffix)
    )
    return path


def compress(content: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(content, mtime=0)
    if suffix == ".bz2":
        return bz2.compress(content)
    if suffix == ".xz":
        return lzma.compress(content)
    if suffix == ".zst":
        return bytes(pa.Codec("zstd").compress(content, asbytes=True))
    return content


def parquet_bytes(**columns: object) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())


def read_all(path: Path, *, columns: str | None = None, skip_bad: bool = False) -> Dataset:
    """Read a single file, with all facts in the training set."""
    return read_dataset(path, columns=columns, skip_bad=skip_bad, splitting=ALL_IN_TRAIN)


def read_text(folder: Path, content: bytes | str, name: str = "facts.tsv") -> Dataset:
    """Read a file with this content, with all facts in the training set."""
    return read_all(write(folder / name, content))


def in_words(dataset: Dataset, facts: Facts | None = None) -> list[ReadFact]:
    """Facts with their names and times as text."""
    facts = dataset.train if facts is None else facts
    return [
        (
            dataset.entities[s],
            dataset.predicates[p],
            dataset.entities[o],
            dataset.axis.format(since),
            dataset.axis.format(until),
        )
        for s, p, o, since, until in zip(*(c.tolist() for c in facts.columns()), strict=True)
    ]


def fault_of(source: Any, **options: Any) -> str:
    """Return the error from reading a source, which must be a single line."""
    with pytest.raises(DataError) as caught:
        read_dataset(source, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message
