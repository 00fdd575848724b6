"""What is written in any kind of file is read back, in blocks of any size."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fact_files import ALL_IN_TRAIN, compress, in_words, parquet_bytes, read_all
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from apptek.errors import DataError
from apptek.facts.facts import Dataset
from apptek.reading.reader import read_dataset
from apptek.reading.text import TEXT_FORMATS, TextFormat

# What may stand in a cell or end a line: all blocks have the harmless, few have any of the others.
harmless = [b"a", b"b c", "\u00e9\u00a0".encode(), b"#", b" ", b"NA", b"null", "\u2028".encode()]
quoted = [
    b'"',
    b'""',
    b'a"b',
    b'"a"',
    b'"a""b"',
    b'"a"b',
    b'"a,b"',
    b'"a\tb"',
    b'"a\nb"',
    b'"\xff"',
]
harmful = [b"", b"\r", b"a\rb", b"\0", b"\xff", b"\xed\xa0\x80", b"\x1f", b"\xef\xbb\xbf", b"\n"]
dates = [b"2014", b"2014-05-13", b"1999-05", b'"1999-##-##"', b"600-##-##", b"?", b""]
no_dates = [b"17", b"-3", b"2014-02-30", b"x", b"\x1f", b"<occursSince>", b"<occursUntil>", b"\r"]
marks = [b"<occursSince>", b"<occursUntil>"]


def texts(form: TextFormat) -> st.SearchStrategy[bytes]:
    """Blocks of lines, rarely noise; each has its own few oddities."""
    noise = st.lists(st.sampled_from([*b'ab1,,\t\t\r\n\n"\0\x1f\xef\xbb\xbf']), max_size=40)
    return st.one_of(
        blocks(form), blocks(form), blocks(form), noise.map(lambda codes: bytes(codes) + b"\n")
    )


@st.composite
def blocks(draw: st.DrawFn, form: TextFormat) -> bytes:
    odd = draw(st.lists(st.sampled_from([*quoted, *harmful, *marks]), max_size=1))
    name = st.sampled_from([*harmless, *odd])
    times = dates[draw(st.integers(0, 4)) :] + draw(st.lists(st.sampled_from(no_dates), max_size=1))
    time = st.sampled_from(times)
    ends = st.sampled_from(
        draw(st.sampled_from([[b"\n"], [b"\r\n", b"\n"], [b"\n", b"\n\n", b"\r\r\n"]]))
    )
    rows: list[list[bytes]] = draw(st.lists(cells_of(name, time), min_size=1, max_size=6))
    text = b"".join(form.delimiter.encode().join(row) + draw(ends) for row in rows)
    return text + draw(st.sampled_from([b"", b"", b"\n\n", b"\r\n"]))


def cells_of(
    name: st.SearchStrategy[bytes], time: st.SearchStrategy[bytes]
) -> st.SearchStrategy[list[bytes]]:
    """A row of three to five cells, seldom one of another width."""
    names = [name] * 3
    shapes = [names, [*names, time], [*names, time, time], [*names, st.sampled_from(marks), time]]
    shapes = [*shapes * 3, [name], [*names, time, time, time]]
    return st.sampled_from(shapes).flatmap(lambda shape: st.tuples(*shape).map(list))


# Good rows, written in every kind of file.

letters = st.one_of(
    st.sampled_from("\u00a0\u2028\ufeff\u00e9\"#,;| '\\\x1f\x7f"),
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\r"),
)
names = st.one_of(
    st.sampled_from(["a", "a ", "a\u00a0", '"', '""', "#", " ", "NA", "null", "-", "?", "\ufeff"]),
    st.text(letters, min_size=1, max_size=6),
)
calendar = st.sampled_from(
    ["2014-05-13", "1999-05", "1999-05-##", "1999", '"1999-##-##"', "600-##"]
)
integers = st.one_of(st.integers(1 - 2**31, 2**31 - 1).map(str), st.just("1999"))
Row = tuple[str, str, str, str, str]


def rows(times: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    """Points, open ends and undated facts; one time twice where it is an interval."""
    ends = st.one_of(
        times.map(lambda time: (time, time)),
        st.tuples(times, st.just("")),
        st.tuples(st.just(""), times),
        st.just(("", "")),
    )
    row = st.tuples(names, names, names, ends).map(lambda r: (*r[:3], *r[3]))
    return st.lists(row, min_size=1, max_size=8)


def as_cells(row: Row) -> list[str]:
    """A row without header: 3, 4 or 5 cells."""
    *triple, since, until = row
    if since == until:
        return [*triple, since] if since else triple
    return [*triple, since, until] if since else [*triple, "<occursUntil>", until]


def as_text(table: Iterable[Sequence[str]], form: TextFormat) -> bytes:
    if not form.quoted:
        return "".join(form.delimiter.join(row) + "\n" for row in table).encode()
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows(table)
    return sink.getvalue().encode()


def content_of(suffix: str, table: list[Row], header: bool) -> bytes:
    titles = ("subject", "predicate", "object", "since", "until")
    if suffix == ".parquet":
        return parquet_bytes(**dict(zip(titles, zip(*table, strict=True), strict=True)))
    if header:
        return as_text([titles, *table], TEXT_FORMATS[suffix])
    # The mark keeps a first name that starts with U+FEFF from losing it.
    return b"\xef\xbb\xbf" + as_text(map(as_cells, table), TEXT_FORMATS[suffix])


def may_be_padded(names: Sequence[str]) -> bool:
    """Whether spaces around the names of a column may be those of a column of fixed width."""
    bare = [name.strip(" ") for name in names]
    numbers = all(re.fullmatch("-?[0-9]+", name) for name in bare)
    return list(names) != bare and (numbers or len({len(name) for name in names}) == 1)


@pytest.mark.parametrize(
    ("suffix", "compression"),
    [(".txt", ""), (".tsv", ".gz"), (".csv", ""), (".csv", ".zst"), (".parquet", "")],
)
@settings(max_examples=40)
@given(table=st.one_of(rows(calendar), rows(integers)), header=st.booleans())
def test_names_and_times_come_back_as_they_were_written(
    suffix: str,
    compression: str,
    table: list[Row],
    header: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assume(not any(may_be_padded(column) for column in list(zip(*table, strict=True))[:3]))
    assume(not any(row[0].startswith("\ufeff") for row in table))  # dropped where files are joined
    path = tmp_path_factory.getbasetemp() / f"facts{suffix}{compression}"
    path.write_bytes(compress(content_of(suffix, table, header), compression))
    dated = any("-" in time[1:] for row in table for time in row[3:])
    granularity = "mixed" if dated else "auto"
    dataset = read_dataset(path, granularity=granularity, splitting=ALL_IN_TRAIN)
    code, text = dataset.axis.parse, dataset.axis.format
    expected = [(s, p, o, text(code(since)), text(code(until))) for s, p, o, since, until in table]
    assert in_words(dataset) == list(dict.fromkeys(expected))
    assert dataset.report.duplicates["train"] == len(table) - len(set(expected))
    assert list(dataset.entities) == sorted({name for row in table for name in (row[0], row[2])})
    assert list(dataset.predicates) == sorted({row[1] for row in table})


def outcome(path: Path, skip_bad: bool) -> tuple[Any, ...]:
    """All that reading a file gives, or the error."""
    try:
        dataset: Dataset = read_all(path, skip_bad=skip_bad)
    except DataError as error:
        return (str(error),)
    return in_words(dataset), list(dataset.entities), dataset.axis, dataset.report


def test_a_time_of_a_bad_row_alone_does_not_describe_the_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text('a,a,"",1999-05,1999-05\na,a,a,<occursSince>,?\n')
    report = read_all(path, skip_bad=True).report
    assert report is not None
    assert report.how["date_format"] == "none"


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
@settings(max_examples=120, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), skip_bad=st.booleans(), size=st.sampled_from([1, 7, 30]))
@pytest.mark.gate
def test_the_size_of_blocks_changes_nothing(
    suffix: str,
    data: st.DataObject,
    skip_bad: bool,
    size: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    header = data.draw(
        st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\n\r\n", b"head{}event{}tail\n"])
    )
    text = header.replace(b"{}", TEXT_FORMATS[suffix].delimiter.encode())
    text += data.draw(texts(TEXT_FORMATS[suffix]))
    path = tmp_path_factory.getbasetemp() / f"facts{suffix}"
    path.write_bytes(text if data.draw(st.booleans()) else text.removesuffix(b"\n"))
    whole = outcome(path, skip_bad)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apptek.reading.streams.BLOCK_BYTES", size)
        assert outcome(path, skip_bad) == whole
