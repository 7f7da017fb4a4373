"""What is told of a failure: one line out of what Spark says, without secrets, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import StreamingQueryException

from semistream.errors import CorruptStoreError, QueryError
from semistream.spark.pipeline.failures import failure
from semistream.spark.pipeline.file import Pipeline, read_pipeline
from tests.spark.pipeline.world import PIPELINE

AROUND = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: \
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function. Reason: An exception \
was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "writing.py", line 52, in __call__
{}
 SQLSTATE: 39000 SQLSTATE: XXKST"""
JAVA = """py4j.protocol.Py4JJavaError: An error occurred while calling o1431.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 9.0 failed 1 times, \
most recent failure: {}
\tat org.apache.spark.scheduler.Task.run(Task.scala:1)
{}"""
LOST_WORKER = "Lost task 1.0: SparkException: Python worker exited unexpectedly (crashed). Consider setting"
LOST_EXECUTOR = "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Command"
CAUSED = (
    "Caused by: java.io.IOException: No space left on device\nCaused by: py4j.Py4JException: An exception was"
)
SAYS = {
    "a worker": (JAVA.format(LOST_WORKER, ""), "a Python worker ended in the middle of a task (killed, "),
    "an executor": (JAVA.format(LOST_EXECUTOR, ""), "an executor ended in the middle of a task (killed, "),
    "java's cause": (JAVA.format("Lost task", CAUSED), "IOException: No space left on device; "),
    "a condition": (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file 1.json. SQLSTATE: KD001",
        "Encountered error while reading file 1.json; ",
    ),
    "python's error": (
        "OSError: [Errno 28] No space left on device",
        "OSError: [Errno 28] No space left on ",
    ),
    "a secret": ("OSError: no open sesame here", "OSError: no *** here; "),
}


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    monkeypatch.setenv("WORD", "open sesame")
    file = tmp_path / "pipeline.toml"
    sink = 'format = "sql"\nurl = "postgresql://me:${WORD}@localhost/w"\ntable = "sales"'
    file.write_text(PIPELINE.replace('format = "parquet"\npath = "warehouse/sales"', sink))
    return read_pipeline(file)


@pytest.mark.parametrize("what", SAYS)
def test_the_cause_is_told(pipeline: Pipeline, what: str) -> None:
    said, told = SAYS[what]
    found = failure(StreamingQueryException(AROUND.format(said)), pipeline)
    assert type(found) is QueryError
    assert str(found).startswith(told)
    assert str(found).endswith(
        f"start the pipeline again: it goes on from its checkpoint {pipeline.checkpoint}"
    )
    assert len(str(found).splitlines()) == 1


def test_our_own_errors_keep_their_type(pipeline: Pipeline) -> None:
    said = "semistream.errors.CorruptStoreError: page 3 doesn't hold what was written"
    found = failure(StreamingQueryException(AROUND.format(said)), pipeline)
    assert type(found) is CorruptStoreError
    assert str(found).startswith(
        "page 3 doesn't hold what was written; once that is mended, start the pipeline"
    )


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111)]
)
def test_spark_is_gone(pipeline: Pipeline, error: Exception) -> None:
    said = (
        "Spark's process ended while the pipeline ran, or can't be reached any more; start the pipeline again"
    )
    assert str(failure(error, pipeline)) == f"{said}: it goes on from its checkpoint {pipeline.checkpoint}"
