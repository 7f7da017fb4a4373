"""What a sink is asked for. A batch is written once: all of it is there, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from semistream.errors import SemiStreamError, StoreError

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class BatchId:
    """One micro-batch of one query: the same again when it is replayed, also by another process."""

    query: str
    number: int

    @property
    def label(self) -> str:
        """Short, and in order within a query.

        >>> BatchId("4f2a9c1e-77aa-4b1c-8f57-0c5d3b1d1a11", 12).label
        '4f2a9c1e-0000000012'
        """
        return f"{self.query[:8]}-{self.number:010d}"


class Sink(Protocol):
    """Where rows go. It travels to where batches are written, so it is small, and holds no secret."""

    def check(self, spark: SparkSession, schema: StructType) -> None:
        """Raise what can be known to be wrong before the start. Nothing is written."""

    def resume(self, spark: SparkSession, batch: BatchId) -> bool:
        """Whether this batch, the first of a run, was written before: the run before ended between that and
        its note of it. What it left half done is removed."""

    def write(self, df: DataFrame, batch: BatchId) -> None:
        """Write the whole batch, or nothing."""

    def known(self, asked: DataFrame) -> DataFrame | None:
        """Which of these keys the warehouse has, each once; None where it has no rows. The columns of `asked`
        are some of the warehouse's."""


@contextmanager
def refusals(path: str, *kinds: type[Exception]) -> Iterator[None]:
    """What the file system has against it, or one of these kinds says, becomes a line that names the path."""
    refused: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except SemiStreamError:
        raise
    except refused as error:
        lines = [line.strip(" \t↳:") for line in _COLOURS.sub("", str(error)).splitlines()]
        raise StoreError(f"{path} can't be written to: {': '.join(filter(None, lines))}") from error
