"""A figure as a row of a table: what varies, what is fixed, which algorithms, which metric.

Values are the papers' own: memory in MB of 2^20 bytes, R in millions of rows. A `Scale` says what they
become in a run, and how long that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, cast

from semistream.experiments.cells import Cell, Disk, Order, Setting, Settings, Workload

Source = Literal["measured", "paper", "corrected"]
Value = float | str

INLJ_PAGE_ROWS = 68  # one page of 8 KiB: INLJ loads no more
MEBIBYTE = 1 << 20
MILLION = 1_000_000
MASTER_MILLIONS = 2  # rows of R in the papers, where they don't vary it
PARTITION_SETTINGS = ("pinned_rows", "page_threshold")


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a run is.

    share: of the papers' R and M.
    repeats: measured parts.
    master_millions: R where a figure has the papers' 2 million.
    partition_share: of the rows of partitions, and of what is counted in them.
    """

    name: str
    share: float
    repeats: int
    seed: int = 1
    master_millions: float = MASTER_MILLIONS
    partition_share: float = 1.0


FULL = Scale("full", 1.0, 5)
QUICK = Scale("quick", 0.05, 1)


@dataclass(frozen=True, slots=True)
class Setup:
    """What the cells of a figure have in common, in the papers' numbers.

    quick_partition_rows: in a quick run, where small pages would take it all its time.
    shares: of the papers' sizes, in a full and in a quick run, where the scale's own would take days.
    """

    memory_mb: float = 50
    master_millions: float = MASTER_MILLIONS
    exponent: float = 1.0
    order: Order = "frequency"
    partition_rows: int = 850
    quick_partition_rows: int | None = None
    queue_node_bytes: int = 12
    intermediate_mb: float = 2.0
    arrival_rate: float | None = None
    disk: Disk = "simulated"
    workload: Workload = "zipf"
    settings: Settings = ()
    shares: tuple[float, float] | None = None

    def share(self, scale: Scale) -> float:
        return scale.share if self.shares is None else self.shares[scale.name == "quick"]

    def at(self, field_name: str, value: Value) -> Setup:
        """This setup with another value of a field, or of a setting."""
        if field_name == "partition_rows":
            return replace(self, partition_rows=int(value), quick_partition_rows=None)
        if field_name in Setup.__slots__:
            return replace(self, **cast("dict[str, Any]", {field_name: value}))
        return replace(self, settings=_with(self.settings, field_name, value))


@dataclass(frozen=True, slots=True)
class Axis:
    """What varies: a field of `Setup`, or a setting of the algorithm, and its values.

    quick: values of a quick run, where they aren't the same.
    """

    field: str
    name: str
    values: tuple[Value, ...] = ()
    quick: tuple[Value, ...] | None = None
    unit: str = ""
    log: bool = False

    def at(self, scale: Scale) -> tuple[Value, ...]:
        return self.quick if scale.name == "quick" and self.quick is not None else self.values


@dataclass(frozen=True, slots=True)
class Metric:
    """What is shown: a key of a repeat; `relative_to` a series' label, in units of what that one has."""

    key: str
    name: str
    unit: str = ""
    log: bool = False
    relative_to: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One line: an algorithm, measured or predicted, perhaps with settings of its own.

    metric: a key of the repeats that stands in for the figure's.
    follows_axis: whether the axis concerns this algorithm; one that it doesn't is the same at every value.
    """

    label: str
    algorithm: str
    settings: Settings = ()
    source: Source = "measured"
    metric: str | None = None
    follows_axis: bool = True
    disk: Disk | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One place in a figure, and the cell whose result stands there."""

    series: Series
    x: Value
    x2: Value | None
    cell: Cell


@dataclass(frozen=True)
class Figure:
    """One row.

    claims: what of section 2 of the papers' claims this shows, such as S3-5.
    second: another axis, in a grid.
    made: figures that aren't made of cells name how they are made (`semistream.experiments.made`).
    profile: the metric is a list along the axis, within each cell.
    """

    id: str
    paper: str
    title: str
    claims: tuple[str, ...]
    metric: Metric
    x: Axis
    series: tuple[Series, ...] = ()
    setup: Setup = field(default_factory=Setup)
    second: Axis | None = None
    made: str | None = None
    profile: bool = False
    note: str = ""

    def points(self, scale: Scale) -> Iterator[Point]:
        """Every point, in the order in which they are drawn."""
        if self.made is not None:
            return
        xs = ("",) if self.profile else self.x.at(scale)
        seconds: tuple[Value | None, ...] = (None,) if self.second is None else self.second.at(scale)
        for series, x, x2 in product(self.series, xs, seconds):
            setup = self.setup if series.disk is None else replace(self.setup, disk=series.disk)
            if setup.master_millions == MASTER_MILLIONS:
                setup = replace(setup, master_millions=scale.master_millions)
            if series.follows_axis and not self.profile:
                setup = setup.at(self.x.field, x)
                if self.second is not None and x2 is not None:
                    setup = setup.at(self.second.field, x2)
            yield Point(series, x, x2, cell_of(series, setup, scale))


def cell_of(series: Series, setup: Setup, scale: Scale) -> Cell:
    """The cell of a series at one point."""
    settings, share = setup.settings, setup.share(scale)
    for name, value in series.settings:
        settings = _with(settings, name, value)
    if series.algorithm in ("p_cachejoin", "op_cachejoin"):
        settings = _with(settings, "intermediate_bytes", int(setup.intermediate_mb * MEBIBYTE * share))
    rows = setup.partition_rows
    if scale.name == "quick" and setup.quick_partition_rows is not None:
        rows = setup.quick_partition_rows
    if scale.partition_share != 1:
        rows = max(1, int(rows * scale.partition_share))
        settings = _shared(settings, scale.partition_share)
    return Cell(
        algorithm=series.algorithm,
        master_rows=int(setup.master_millions * MILLION * share),
        exponent=float(setup.exponent),
        order=setup.order,
        memory=int(setup.memory_mb * MEBIBYTE * share),
        partition_rows=INLJ_PAGE_ROWS if series.algorithm == "inlj" else rows,
        settings=settings,
        queue_node_bytes=setup.queue_node_bytes,
        workload=setup.workload,
        arrival_rate=setup.arrival_rate,
        disk=setup.disk,
        seed=scale.seed,
        repeats=scale.repeats,
        scale=share,
    )


def _shared(settings: Settings, share: float) -> Settings:
    """Settings that count rows of partitions, for smaller ones."""
    return tuple(
        (name, max(1, int(float(value) * share)) if name in PARTITION_SETTINGS else value)
        for name, value in settings
    )


def _with(settings: Settings, name: str, value: Setting) -> Settings:
    return tuple(sorted({**dict(settings), name: value}.items()))
