"""`semistream run`: a whole pipeline out of one file, from its sources to a warehouse, on Spark.

file.py       what a file says                    sources.py    streams brought to one schema
places.py     errors that name file, table, key   steps.py      duplicates dropped
secrets.py    ${NAME}, and what is refused        lookups.py    lookups, in one trip through Python
analysis.py   what Spark has against a part       output.py     new rows, derived columns, quarantine
building.py   checks all of it before the start   writing.py    a batch, written exactly once
running.py    start, follow, stop                 sinks/        one file per kind of sink
progress.py   what a batch did                    failures.py   the one cause of a failure
"""

from __future__ import annotations

from semistream.spark.pipeline.building import Built, build_pipeline
from semistream.spark.pipeline.file import Pipeline, read_pipeline
from semistream.spark.pipeline.progress import BatchRecord
from semistream.spark.pipeline.running import Stopping, Summary, run_pipeline

__all__ = [
    "BatchRecord",
    "Built",
    "Pipeline",
    "Stopping",
    "Summary",
    "build_pipeline",
    "read_pipeline",
    "run_pipeline",
]
