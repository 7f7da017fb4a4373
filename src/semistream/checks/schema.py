"""What goes in stays as it is, what comes out has the schema that was promised and stays valid."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from semistream.checks.base import Subject, check, expect
from semistream.checks.data import in_pieces, plain, stream_of, strings
from semistream.columns import HOWS
from semistream.errors import SchemaError

ROWS = 120
OUTPUT_ROWS = 16


@check()
def output_schema_is_as_promised(subject: Subject) -> None:
    """Every batch has `output_schema`, known before the first push: stream, master, status."""
    master, stream = plain(), stream_of(plain(), ROWS, seed=8)
    stream = stream.rename_columns(["k", "row", "name"]).replace_schema_metadata({"origin": "a check"})
    for how in HOWS:
        with subject.join(master, how=how, suffix="_m", status="_match") as trial:
            promised = trial.join.output_schema_for(stream.schema)
            trial.push(*in_pieces(stream, 50))
            trial.drain()
            payload = ["name_m", "price"] if how in ("inner", "left") else []
            names = ["k", "row", "name", *payload, "_match"]
            expect(promised.names == names, f"{how}: expected columns {names}, and saw {promised.names}")
            kept = promised.metadata == stream.schema.metadata
            expect(kept, f"{how}: expected the stream's metadata, and saw {promised.metadata}")
            for batch in trial.out:
                same = batch.schema.equals(promised, check_metadata=True)
                expect(same, f"{how}: expected a batch of {promised}, and saw {batch.schema}")
                batch.validate(full=True)


@check()
def output_batches_are_bounded(subject: Subject) -> None:
    """No batch has more rows than `output_rows`, and none is empty."""
    with subject.join(plain(), how="left", output_rows=OUTPUT_ROWS) as trial:
        trial.push(stream_of(plain(), ROWS, seed=9))
        trial.drain()
        sizes = [batch.num_rows for batch in trial.out]
        good = all(0 < size <= OUTPUT_ROWS for size in sizes)
        expect(good, f"expected batches of 1 to {OUTPUT_ROWS} rows, and saw {sizes}")


@check()
def the_callers_batch_is_untouched(subject: Subject) -> None:
    """Not a byte of a pushed batch changes, even where its memory could be written to."""
    batch = _writable(stream_of(strings(), ROWS, seed=10))
    before = _digest(batch)
    with subject.join(strings(), how="left") as trial:
        trial.push(*in_pieces(batch, 50))
        trial.drain()
    expect(
        _digest(batch) == before, "expected the pushed batch to stay as it was, and its bytes have changed"
    )


@check()
def output_stays_as_it_was_given(subject: Subject) -> None:
    """No batch that was handed out changes later: its memory isn't used again."""
    given: list[tuple[pa.RecordBatch, str]] = []
    with subject.join(strings(), how="left") as trial:
        trial.on_output = lambda batch: given.append((batch, _digest(batch)))
        for seed in (11, 12):
            trial.push(*in_pieces(stream_of(strings(), ROWS, seed=seed), 50))
        trial.drain()
    changed = sum(_digest(batch) != digest for batch, digest in given)
    expect(changed == 0, f"expected {len(given)} batches to stay as they were, and {changed} have changed")


@check()
def another_schema_is_refused(subject: Subject) -> None:
    """A batch of other columns than the first one's raises SchemaError, and takes no row in."""
    stream = stream_of(plain(), 20, seed=13)
    with subject.join(plain()) as trial:
        trial.push(stream)
        refused = None
        try:
            trial.push(stream.rename_columns(["k", "row", "other"]))
        except SchemaError as error:
            refused = error
        expect(refused is not None, "expected a SchemaError for a batch of other columns, and saw none")
        rows = trial.join.stats.rows_in
        expect(rows == 20, f"expected 20 rows in after a refused batch, and saw {rows}")


def _writable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy whose buffers are memory that may be written to."""
    columns = []
    for column in batch.columns:
        buffers = [
            None if part is None else pa.py_buffer(np.frombuffer(part, np.uint8).copy())
            for part in column.buffers()
        ]
        columns.append(pa.Array.from_buffers(column.type, len(column), buffers, column.null_count))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _digest(batch: pa.RecordBatch) -> str:
    """A digest of every byte that the batch's values lie in."""
    digest = hashlib.blake2b(digest_size=16)
    for column in batch.columns:
        for part in column.buffers():
            digest.update(b"" if part is None else memoryview(part))
    return digest.hexdigest()
