"""Batches of queries as tables of Arrow or Parquet, answered as such tables: no JSON on the way.

A body of 4 MiB must not become gigabytes: rows and lengths of names are limited as in JSON, and
compressed data is taken only where it cannot grow much.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc, parquet

from apptek.config import View
from apptek.data.frames import query_text_columns
from apptek.data.reading.columns import query_columns
from apptek.models.answer_tables import AskedColumns, answer_columns
from apptek.present.wording import shortened
from apptek.service.network.request_limits import RequestLimits
from apptek.service.predict_explain import answerer_of
from apptek.service.problem_json import MAX_QUOTED, TITLES, ServiceError
from apptek.service.served_model import ServedModel
from apptek.service.tables.parquet_footer import codecs

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
JSON = "application/json"
LONGEST = 10_000  # bytes of a name or time
CODECS = {"UNCOMPRESSED", "SNAPPY"}  # snappy grows at most about 20 times, zstd 30,000 times
ROWS = 64  # of Parquet that are decoded at a time: names that share their beginnings are expanded
# Every compressed part of a stream has one of these; texts and small numbers have neither.
_COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")  # zstd, lz4


def answer_type(body_type: str, accept: str) -> str:
    """The type of the answer: the first that is both known and accepted, else that of the body."""
    for accepted in accept.split(","):
        name = accepted.partition(";")[0].strip().lower()
        if name in (ARROW, PARQUET, JSON):
            return name
        if name == "*/*":
            break
    return body_type


def read_queries(body: bytes, body_type: str, limits: RequestLimits) -> pa.Table:
    """The table of a body. Raises a ServiceError if it is damaged, too large or empty."""
    parts = _parquet_parts if body_type == PARQUET else _arrow_parts
    batches: list[pa.RecordBatch] = []
    try:
        for batch in parts(body):
            check_batch(sum(part.num_rows for part in batches) + batch.num_rows, 0, limits)
            batch.validate(full=True)
            _check_lengths(batch)
            batches.append(batch)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        said = f"The body cannot be read as {body_type}: {shortened(reason, 2 * MAX_QUOTED)}"
        raise _not_valid(said) from None
    if not any(batch.num_rows for batch in batches):
        raise _not_valid("The body has no rows.")
    return pa.Table.from_batches(batches)


def _arrow_parts(body: bytes) -> Iterator[pa.RecordBatch]:
    if any(mark in body for mark in _COMPRESSED):
        raise _not_valid("The body is compressed.", "Write the Arrow stream without compression.")
    yield from ipc.open_stream(body)


def _parquet_parts(body: bytes) -> Iterator[pa.RecordBatch]:
    if refused := codecs(body) - CODECS:
        raise _not_valid(
            f"The body is compressed by {', '.join(sorted(refused))}.",
            "Write the Parquet file with the compression snappy, or with none.",
        )
    file = parquet.ParquetFile(pa.BufferReader(body))
    names = file.schema_arrow.names
    used = query_columns(names)
    if used is None:
        found = shortened(", ".join(names), MAX_QUOTED)
        raise _not_valid(f"The body has the columns {found}.")
    wanted = [names[column] for column in used]
    leaves = [file.schema.column(leaf) for leaf in range(file.metadata.num_columns)]
    lists = {leaf.path.partition(".")[0] for leaf in leaves if leaf.max_repetition_level}
    if lists & set(wanted):  # a single row of a list can have any number of values
        raise _not_valid("The body has a list where a text is expected.")
    yield from file.iter_batches(ROWS, columns=wanted)


def _check_lengths(batch: pa.RecordBatch) -> None:
    """Refuses long texts before they are copied: many rows may share one that is stored once."""
    for column in batch.columns:
        texts = column.dictionary if pa.types.is_dictionary(column.type) else column
        if pa.types.is_string_view(texts.type):
            views = np.frombuffer(texts.buffers()[1], np.int32).reshape(-1, 4)
            lengths = views[texts.offset : texts.offset + len(texts), 0]
            longest = int(lengths.max(initial=0))
        elif pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
            longest = pc.max(pc.binary_length(texts)).as_py() or 0
        else:
            continue
        if longest > LONGEST:
            raise _not_valid(f"A text has {longest:,} bytes; a name may have {LONGEST:,}.")


def check_batch(rows: int, top: int, limits: RequestLimits) -> None:
    """Raises a ServiceError if a batch has too many queries, or asks for too many predicates.

    Of a table that is read in pieces, `rows` may be those of the first ones.
    """
    limit = ""
    if rows > limits.batch:
        limit = f"at most {limits.batch:,} queries; this one has more"
    elif rows * top > limits.pairs:
        limit = f"at most {limits.pairs:,} predicates to return, not {rows:,} queries x top {top:,}"
    if limit:
        raise ServiceError(
            422,
            "The batch is too large",
            f"A batch may have {limit}.",
            advice="Split it into several requests.",
            where="queries",
        )


def predict_table(
    served: ServedModel, queries: pa.Table, *, top: int, view: View | None
) -> pa.Table:
    """The answers to a table of queries: the columns of `apptek predict --queries`."""
    answerer = answerer_of(served, view)

    def entity(text: str, _column: str, _row: int) -> int:
        return answerer.entity_id(text)

    def time(text: str, column: str, row: int) -> int:
        return served.time(text, _place(column, row))

    asked = AskedColumns(*query_text_columns(queries, "the body"))
    return answer_columns(answerer, asked, asked.ids(entity, time), top=top)


def write_table(table: pa.Table, kind: str) -> bytes:
    """A table as the body of a response."""
    sink = pa.BufferOutputStream()
    if kind == PARQUET:
        parquet.write_table(table, sink)
    else:
        with ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _place(column: str, row: int) -> str:
    return f"{column} of row {row + 1}"


def _not_valid(detail: str, advice: str = "") -> ServiceError:
    advice = advice or "Send a table with the columns subject, object and time."
    return ServiceError(422, TITLES[422], detail, advice=advice, where="body")
