"""The operator: batches of the stream in, joined batches out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, cast

import pyarrow as pa

from semistream.algorithms import algorithm as find_algorithm
from semistream.algorithms.base import Algorithm, Workshop, make_settings
from semistream.budget import Budget, PaperCharge, format_bytes, parse_memory
from semistream.columns import Columns, On, check_how, key_pairs, resolve
from semistream.errors import (
    ArgumentError,
    BudgetError,
    DuplicateKeyError,
    SchemaError,
    StoreError,
    UsageError,
)
from semistream.keys import KeyCodec
from semistream.phases.arrivals import ArrivalEncoder
from semistream.phases.loading import Loader
from semistream.phases.plan import Facts, Plan, make_plan, row_bytes_of
from semistream.phases.widths import average_row_bytes, least_row_bytes, likely_row_bytes
from semistream.stats import Ages, Counters, Stats
from semistream.stores.base import PageLayout, Store
from semistream.stores.duplicates import find_duplicate_keys
from semistream.stores.master import Master
from semistream.structures.sizes import row_sizes

DEFAULT_ALGORITHM = "cachejoin_pq"
Batches = Iterator[pa.RecordBatch]


class SemiStreamJoin:
    """Join a stream of record batches with a master table inside one byte budget.

    Parameters
    ----------
    master: what `semistream.master` gives, or an open store.
    on: the key columns: a name, a list, or {stream column: master column}; None: the master's key.
    how: inner, left, left_semi or left_anti.
    columns: master columns to put out; None: all but its key.
    suffix: appended to master columns whose name the stream has too.
    memory: bytes for the whole operator, as a number or a text like "64MiB".
    algorithm: one of `semistream.algorithms()`.
    validate: "m:1" raises where the master has a key twice.
    status: name of a column that says matched, unmatched or null_key.
    settings: the algorithm's own; an unknown one is an error that lists them.

    The iterators that `push`, `step` and `drain` return do the work as they are read: read each to
    its end before the next call. The order of output rows is not promised.

    >>> import pyarrow as pa
    >>> import semistream as ss
    >>> products = ss.master(pa.table({"product": [1, 2], "name": ["tea", "jam"]}), key="product")
    >>> with ss.SemiStreamJoin(products, memory="1MiB") as join:
    ...     out = [*join.push(pa.record_batch({"product": [2, 9, 2]})), *join.drain()]
    >>> pa.Table.from_batches(out).to_pydict()
    {'product': [2, 2], 'name': ['jam', 'jam']}
    """

    def __init__(
        self,
        master: Master | Store,
        on: On = None,
        how: str = "inner",
        *,
        columns: Sequence[str] | None = None,
        suffix: str | None = None,
        memory: int | str = "64MiB",
        algorithm: str = DEFAULT_ALGORITHM,
        validate: Literal["m:1"] | None = None,
        status: str | None = None,
        **settings: Any,
    ) -> None:
        self._budget = Budget(parse_memory(memory))
        self._name = algorithm
        self._kind = find_algorithm(algorithm)
        self._settings = make_settings(self._kind.settings_type, settings, algorithm)
        self._on, self._how, self._suffix, self._status = on, check_how(how), suffix, status
        self._chosen_columns = columns
        if validate not in (None, "m:1"):
            raise ArgumentError(f"validate={validate!r} is not known: give 'm:1' or None")
        self._owns_store = isinstance(master, Master) and not master.lends_store
        self._store: Store = master.open() if isinstance(master, Master) else master
        try:
            key_pairs(on, self._store.key)
            self._codec = KeyCodec.of_master([self._store.schema.field(name) for name in self._store.key])
            self._layout = _layout(self._store)
            if validate:
                _refuse_duplicates(self._store)
            self._plan_for(least_row_bytes(pa.schema([])), ())
        except BaseException:
            self._close_store()
            raise
        self._columns: Columns | None = None
        self._schema: pa.Schema | None = None
        self._running: Batches | None = None
        self._algorithm: Algorithm | None = None
        self._closed = False
        self._seconds = 0.0

    # -- the stream -----------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Batches:
        """Admit a batch of any size; yields what can be answered. A batch that doesn't fit the
        first one's schema is refused before any of its rows is taken."""
        self._ready()
        if not isinstance(batch, pa.RecordBatch):
            raise ArgumentError(f"push takes a pyarrow.RecordBatch, and was given {type(batch).__name__}")
        if self._algorithm is None:
            self._start(batch)
        elif not batch.schema.equals(self._schema):
            raise SchemaError(
                f"the batch's columns {_described(batch.schema)} are not those the join began with, "
                f"{_described(cast(pa.Schema, self._schema))}: cast it, or start another join"
            )
        assert self._algorithm is not None
        self._refuse_giants(batch, self._algorithm.plan)
        return self._run(self._algorithm.push(batch))

    def step(self) -> Batches:
        """Do one load without input, for a stream that pauses; yields what it answers."""
        self._ready()
        return self._run(self._algorithm.step()) if self._algorithm else iter(())

    def drain(self) -> Batches:
        """Answer every waiting row."""
        self._ready()
        return self._run(self._algorithm.drain()) if self._algorithm else iter(())

    def close(self) -> None:
        """Let go of the master and of all memory. Rows that still wait are gone: drain first."""
        if self._closed:
            return
        self._closed = True
        if self._running is not None:
            cast(Any, self._running).close()
            self._running = None
        if self._algorithm is not None:
            self._final = self.stats
            self._algorithm.close()
            self._algorithm = None
        self._close_store()

    def __enter__(self) -> SemiStreamJoin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()

    # -- what can be known of it ----------------------------------------------------------------

    @property
    def output_schema(self) -> pa.Schema:
        """Known from the first batch on; `output_schema_for` tells it before."""
        if self._columns is None:
            raise UsageError(
                "the output schema is known after the first push; or ask output_schema_for(schema)"
            )
        return self._columns.output.schema

    def output_schema_for(self, stream: pa.Schema) -> pa.Schema:
        """The output schema for a stream of this schema; fails as `push` would."""
        columns = self._resolve(stream)
        self._codec.accepts([stream.field(i) for i in columns.stream_key])
        return columns.output.schema

    def plan_for(self, stream: pa.Schema | pa.RecordBatch) -> Plan:
        """How the budget will be split, for a stream of this schema; fails as `push` would. A string or a
        list counts 24 bytes: what they really take, the first batch says, which can be given instead."""
        schema = stream.schema if isinstance(stream, pa.RecordBatch) else stream
        columns = self._resolve(schema)
        codec = self._codec.accepts([schema.field(i) for i in columns.stream_key])
        encoder = ArrivalEncoder(schema, columns.stream_key, codec)
        if isinstance(stream, pa.RecordBatch):
            return self._plan_for(_row_bytes(encoder, stream), columns.payload)
        return self._plan_for(likely_row_bytes(encoder.schema), columns.payload)

    @property
    def master_rows(self) -> int | None:
        """Rows of the master; None where its store doesn't know."""
        return self._store.rows

    @property
    def master_version(self) -> str:
        """The version of the master that this join reads."""
        return self._store.version().token

    @property
    def waiting_rows(self) -> int:
        """Rows pushed and not answered yet; 0 means that a `drain` has nothing to do."""
        return self._algorithm.waiting_rows if self._algorithm else 0

    @property
    def stats(self) -> Stats:
        """A snapshot of what happened so far."""
        algorithm = self._algorithm
        if algorithm is None:
            ages = Ages()
            return getattr(self, "_final", None) or Stats(
                Counters(), 0, 0, 0, 0, 0, ages.most, self._budget.limit
            )
        counters, ages = algorithm.counters(), algorithm.ages()
        counters.processing_seconds = self._seconds
        directory = algorithm.directory
        if directory is not None:
            counters.index_reads, counters.index_bytes_read = directory.reads, directory.bytes_read
        return Stats(
            counters=counters,
            pending_rows=algorithm.waiting_rows,
            pending_capacity=algorithm.plan.pending_rows,
            cached_rows=algorithm.front.rows,
            age_p50=ages.quantile(0.5),
            age_p99=ages.quantile(0.99),
            age_max=ages.most,
            memory_limit=self._budget.limit,
            held_bytes=dict(self._budget.held),
            peak_bytes=self._budget.peak,
            paper_bytes=self._paper_charge(algorithm.plan, algorithm.front.rows).total,
            threads=algorithm.threads(),
        )

    def check(self) -> None:
        """Assert the invariants of every part; for tests."""
        if self._algorithm is not None:
            self._algorithm.check()

    # -- inside ---------------------------------------------------------------------------------

    def _ready(self) -> None:
        if self._closed:
            raise UsageError("the join is closed: make a new one")
        if self._running is not None:
            raise UsageError(
                "the iterator of the last call has not been read to its end, so rows are still on their way: "
                "read it (for out in join.push(batch): ...), then call again"
            )

    def _start(self, batch: pa.RecordBatch) -> None:
        columns = self._resolve(batch.schema)
        stream_codec = self._codec.accepts([batch.schema.field(i) for i in columns.stream_key])
        encoder = ArrivalEncoder(batch.schema, columns.stream_key, stream_codec)
        plan = self._plan_for(_row_bytes(encoder, batch), columns.payload)
        directory = self._store.directory(plan.directory_bytes) if self._kind.uses_directory else None
        workshop = Workshop(
            loader=Loader(self._store, self._codec, columns.payload),
            directory=directory,
            encoder=encoder,
            columns=columns,
            plan=plan,
            budget=self._budget,
            clock=_clock(self._store),
        )
        self._algorithm = self._kind(workshop, self._settings)
        self._columns, self._schema = columns, batch.schema

    def _refuse_giants(self, batch: pa.RecordBatch, plan: Plan) -> None:
        """A row that can never be held is refused before any row of its batch is taken."""
        if not batch.num_rows or batch.nbytes <= plan.largest_row:  # views bring buffers without rows
            return
        sizes = row_sizes(batch)
        largest = int(sizes.argmax())
        if sizes[largest] > plan.largest_row:
            raise BudgetError(
                f"row {largest} of the batch takes {format_bytes(int(sizes[largest]))}, and "
                f"memory={format_bytes(self._budget.limit)} has room for rows of up to "
                f"{format_bytes(plan.largest_row)}; no row of the batch was taken: give more memory, or keep "
                "such payload out of the join"
            )

    def _resolve(self, stream: pa.Schema) -> Columns:
        return resolve(
            stream,
            self._store.schema,
            self._store.key,
            on=self._on,
            how=self._how,
            columns=self._chosen_columns,
            suffix=self._suffix,
            status=self._status,
        )

    def _plan_for(self, stream_row_bytes: int, payload: Sequence[str]) -> Plan:
        least, full = self._store.directory_bytes() if self._kind.uses_directory else (0, 0)
        facts = Facts(
            layout=self._layout,
            directory_least=least,
            directory_full=full,
            exact_keys=self._codec.exact,
            stream_row_bytes=stream_row_bytes,
            master_row_bytes=row_bytes_of(self._store.schema, self._layout, [*self._store.key, *payload]),
        )
        needs = self._kind.needs(self._settings, facts)
        return make_plan(self._budget.limit, needs, facts, self._name)

    def _paper_charge(self, plan: Plan, cached_rows: int) -> PaperCharge:
        page = self._layout.max_bytes
        row = page // max(1, self._layout.max_rows)
        assert self._schema is not None
        return PaperCharge(
            buffer_bytes=page * plan.partition_pages,
            front_bytes=cached_rows * row,
            pending_rows=plan.pending_rows,
            stream_row_bytes=least_row_bytes(self._schema),
        )

    def _run(self, batches: Batches) -> Batches:
        """Run an iterator of the algorithm, noting that it is running and for how long."""
        running = self._timed(batches)
        self._running = running
        return running

    def _timed(self, batches: Batches) -> Batches:
        while True:
            began = time.perf_counter()
            try:
                batch = next(batches, None)
            except BaseException:
                self._running = None
                raise
            finally:
                self._seconds += time.perf_counter() - began
            if batch is None:
                self._running = None
                return
            yield batch

    def _close_store(self) -> None:
        if self._owns_store:
            self._store.close()


def _row_bytes(encoder: ArrivalEncoder, batch: pa.RecordBatch) -> int:
    """Of a stream row, by the first ones."""
    sample = encoder.encode(batch.slice(0, 1024)).batch
    return max(least_row_bytes(encoder.schema), average_row_bytes(sample))


def _layout(store: Store) -> PageLayout:
    layout = store.layout
    if layout is None:
        raise StoreError(f"{type(store).__name__} has no pages, and this algorithm reads pages")
    return layout


def _refuse_duplicates(store: Store) -> None:
    if store.unique:
        return
    keys = find_duplicate_keys(store)
    if keys:
        shown = ", ".join(map(repr, keys))
        raise DuplicateKeyError(
            f"validate='m:1': the master has keys more than once, among them {shown}; "
            "remove the duplicates, or leave validate out to get all matches"
        )


def _clock(store: Store) -> Callable[[], float]:
    """A simulated store brings its own time."""
    clock = getattr(store, "clock", None)
    return (lambda: float(clock.now)) if clock is not None else time.perf_counter


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
