"""A folder of Parquet files that any reader can read, also while it is written to.

Each batch is a folder `semistream_batch=QUERY-BATCH` in it, which readers show as one more column. Spark
writes it to a hidden folder beside the sink; then one rename brings it in. It never changes after that.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from semistream.spark.pipeline.analysis import column
from semistream.spark.pipeline.places import Place
from semistream.spark.pipeline.sinks.base import BatchId, refusals

BATCH_COLUMN = "semistream_batch"


@dataclass(frozen=True)
class ParquetSink:
    """The files of a warehouse's table, or of a quarantine."""

    place: Place
    path: str

    def check(self, spark: SparkSession, schema: StructType) -> None:
        check_folder(self.place, self.path)
        if BATCH_COLUMN in schema.names:
            raise self.place.error(
                "path", f"column {BATCH_COLUMN!r} is the name under which batches lie: rename it"
            )
        folder = Path(self.path)
        strangers = [
            name
            for name in (os.listdir(folder) if folder.is_dir() else ())
            if not name.startswith((f"{BATCH_COLUMN}=", ".", "_"))
        ]
        if strangers:
            raise self.place.error(
                "path", f"{folder} holds {strangers[0]!r}, which no pipeline wrote: give a folder of its own"
            )

    def resume(self, spark: SparkSession, batch: BatchId) -> bool:
        staging = self._staging()
        for left in staging.glob(f"{batch.query[:8]}-*") if staging.is_dir() else ():
            shutil.rmtree(left, ignore_errors=True)
        return self._final(batch).exists()

    def write(self, df: DataFrame, batch: BatchId) -> None:
        staged = self.stage(df, batch)
        with refusals(self.path):
            self.publish(staged, batch)

    def stage(self, df: DataFrame, batch: BatchId) -> Path:
        """Write the batch to where no reader looks."""
        # Tasks of a driver that was killed may still be writing: each attempt has a folder of its own.
        folder = self._staging() / f"{batch.label}-{uuid4().hex[:8]}"
        # The session of a batch is the query's own copy. Few read INT96, Spark's default, as it was meant.
        df.sparkSession.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        writer = df.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        writer.parquet(f"file://{folder}")
        for checksum in folder.glob(".*.crc"):
            checksum.unlink()
        return folder

    def publish(self, staged: Path, batch: BatchId) -> None:
        """Bring a staged batch in, in the place of what an earlier attempt at it may have left."""
        final = self._final(batch)
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists():
            os.rename(final, staged.with_name(f"{staged.name}.old"))
        os.rename(staged, final)
        shutil.rmtree(staged.with_name(f"{staged.name}.old"), ignore_errors=True)
        with suppress(OSError):  # another pipeline stages there
            staged.parent.rmdir()

    def known(self, asked: DataFrame) -> DataFrame | None:
        if not any(Path(self.path).glob(f"{BATCH_COLUMN}=*")):
            return None
        files = asked.sparkSession.read.schema(asked.schema).parquet(f"file://{self.path}")
        return having(files.select(*(column(name) for name in asked.columns)), asked)

    def _final(self, batch: BatchId) -> Path:
        return Path(self.path) / f"{BATCH_COLUMN}={batch.label}"

    def _staging(self) -> Path:
        path = Path(self.path)
        return path.with_name(f".{path.name}.staging")


def having(rows: DataFrame, asked: DataFrame) -> DataFrame:
    """Of the keys asked for, those that these rows have; each file is read for its key columns only."""
    return rows.join(F.broadcast(asked), list(asked.columns), "left_semi").distinct()


def check_folder(place: Place, path: str) -> None:
    """An error unless this is, or can become, a folder that can be written to."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        raise place.error("path", f"{path} is a URL: give a path that the driver and all executors share")
    there = Path(path)
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise place.error("path", f"{there} is a file: give the path of a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise place.error(
            "path", f"{there} can't be written to: give another path, or the right to write there"
        )
