"""Joins and stores with something wrong, each for a check that has to see it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semistream import SemiStreamJoin
from semistream.algorithms.base import Algorithm, Batches, Settings, Workshop
from semistream.algorithms.hybridjoin import HybridJoin
from semistream.errors import StoreError
from semistream.phases.arrivals import Arrivals
from semistream.stats import Stats
from semistream.stores.base import PageRun
from semistream.stores.wrapped import WrappedStore

MakeJoin = Callable[..., SemiStreamJoin]


def of(kind: type[Algorithm], **fixed: Any) -> MakeJoin:
    """Makes joins of this algorithm, whatever name they are asked for under."""

    def make(*args: Any, **options: Any) -> SemiStreamJoin:
        with patch("semistream.join.find_algorithm", lambda name: kind):
            return SemiStreamJoin(*args, **{**options, **fixed})

    return make


def passed_off(plainer: type[Algorithm], original: type[Algorithm]) -> MakeJoin:
    """The plainer algorithm under the other's name, taking the other's settings without complaint."""
    return of(type(f"{plainer.__name__}PassedOff", (plainer,), {"settings_type": original.settings_type}))


# -- joins whose output is altered -------------------------------------------------------------


class Altered(SemiStreamJoin):
    """Everything that comes out goes through `change`."""

    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return self.changed(super().push(batch))

    def step(self) -> Iterator[pa.RecordBatch]:
        return self.changed(super().step())

    def drain(self) -> Iterator[pa.RecordBatch]:
        return self.changed(super().drain())

    def changed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self.change(batch)


class DropsARow(Altered):
    dropped = False

    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.dropped:
            return batch
        self.dropped = True
        return batch.slice(1)


class DoublesARow(Altered):
    doubled = False

    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.doubled:
            return batch
        self.doubled = True
        return pa.concat_batches([batch, batch.slice(0, 1)])


class InnerForLeft(SemiStreamJoin):
    def __init__(self, master: Any, how: str = "inner", **options: Any) -> None:
        super().__init__(master, how="inner" if how == "left" else how, **options)


class ForgetsUnmatchedRows(Altered):
    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(pc.is_valid(batch["price"])) if "price" in batch.schema.names else batch


class ForgetsDuplicates(Altered):
    """One match a row."""

    seen: frozenset[int] = frozenset()

    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        kept = []
        for i, row in enumerate(batch["row"].to_pylist()):
            if row not in self.seen:
                self.seen |= {row}
                kept.append(i)
        return batch.take(pa.array(kept, pa.int64()))


class CutsKeysShort(Altered):
    """Equal beginnings count as equal keys."""

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        short = pc.utf8_slice_codeunits(batch["k"], 0, 5)
        return super().push(batch.set_column(0, batch.schema.field(0), short))


class LooksAtOnePart(Altered):
    """The second part of a key isn't looked at: every key has the same one."""

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        same = pc.if_else(pc.is_valid(batch["b"]), "p02", batch["b"])
        return super().push(batch.set_column(1, batch.schema.field(1), same))


class LosesSingleRows(Altered):
    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return super().push(batch) if batch.num_rows != 1 else iter(())


class CallsNullsUnmatched(Altered):
    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        words = pc.replace_substring(batch["_match"], "null_key", "unmatched")
        at = batch.schema.names.index("_match")
        return batch.set_column(at, batch.schema.field(at), words)


class LosesMetadata(Altered):
    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.replace_schema_metadata(None)


class PutsEverythingIntoOneBatch(Altered):
    def changed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        return iter([pa.concat_batches(found)] if found else [])


class WritesIntoTheCallersBatch(Altered):
    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        scribble(batch["row"])
        return super().push(batch)


class ReusesOutput(Altered):
    last: pa.RecordBatch | None = None

    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.last is not None:
            scribble(self.last["row"])
        self.last = batch
        return batch


def scribble(column: pa.Array) -> None:
    ctypes.memset(column.buffers()[1].address + 8 * column.offset, 0xAB, 8)


class TakesAnySchema(Altered):
    names: Sequence[str] = ()

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self.names = self.names or batch.schema.names
        return super().push(batch.rename_columns(list(self.names)))


class StepsDoNothing(Altered):
    def step(self) -> Iterator[pa.RecordBatch]:
        return iter(())


class DrainsOneStep(Altered):
    def drain(self) -> Iterator[pa.RecordBatch]:
        return self.step()


class DrainsFullChunksOnly(Altered):
    def drain(self) -> Iterator[pa.RecordBatch]:
        return super().drain() if self.waiting_rows >= 8 else iter(())


class SwallowsFailures(Altered):
    def changed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except StoreError:
            return


class DoesNotClose(Altered):
    def close(self) -> None:
        """Leave everything as it is."""


class SaysNothingOfItsMemory(Altered):
    @property
    def stats(self) -> Stats:
        return replace(super().stats, held_bytes={})


class UnboundedDictionary(Altered):
    """Remembers every master row that ever answered, beside the budget."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.known: dict[Any, Any] = {}

    def change(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self.known.update(zip(batch["k"].to_pylist(), batch["words"].to_pylist(), strict=True))
        return batch


# -- algorithms with something wrong inside ----------------------------------------------------


class MatchesNulls(HybridJoin):
    """A null counts as the first key of its batch."""

    def arrive(self, arrivals: Arrivals) -> Batches:
        keys = arrivals.keys
        keys.codes[keys.null] = keys.codes[np.flatnonzero(~keys.null)[0]]
        keys.null[:] = False
        yield from super().arrive(arrivals)


class ComparesHashesOnly(HybridJoin):
    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        super().__init__(workshop, settings)
        self.page_phase._key_columns = None


class StopsAtThePagesEnd(HybridJoin):
    """A key that goes on behind its first page is answered from that page alone."""

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        super().__init__(workshop, settings)
        self.page_phase._read_on = lambda *args: iter(())  # type: ignore[method-assign]


class LoadsWithoutNeed(HybridJoin):
    def after_admission(self) -> Batches:
        yield from self.make_room()


class YoungestFirst(HybridJoin):
    def next_partition(self) -> int:
        return self.pending.youngest_page()


# -- stores with something wrong ---------------------------------------------------------------


class LosesTheLastRow(WrappedStore):
    """Of every run."""

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        for run in super().read(pages, columns):
            offsets = np.minimum(run.offsets, run.offsets[-1] - 1)
            yield replace(run, offsets=offsets, batch=run.batch.slice(0, run.batch.num_rows - 1))


class ChangesPrices(WrappedStore):
    """A column doesn't hold what was written."""

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        for run in super().read(pages, columns):
            if "price" not in columns:
                yield run
                continue
            dearer = pc.add(run.batch["price"], 1.0)
            at = list(columns).index("price")
            yield replace(run, batch=run.batch.set_column(at, run.batch.schema.field(at), dearer))
