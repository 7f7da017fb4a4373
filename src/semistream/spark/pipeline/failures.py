"""Why a query ended: the one cause, out of what Spark wraps around it."""

from __future__ import annotations

import re

from semistream.errors import QueryError, SemiStreamError
from semistream.spark.index import raised_by_worker
from semistream.spark.pipeline.file import Pipeline
from semistream.spark.pipeline.secrets import without_values
from semistream.spark.session import is_gone

# What Spark says where a part of it is lost, and what that is.
_LOST = {
    "Python worker exited unexpectedly": "a Python worker ended in the middle of a task",
    "ExecutorLostFailure": "an executor ended in the middle of a task",
}
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ([^\n]+)")
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED")
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)): (.*)$", re.MULTILINE)
_JAVA = re.compile(r"^(?:Caused by)?: (?!py4j)([a-z][\w.$]*(?:Error|Exception)): (.*)$", re.MULTILINE)
_MOST_CAUSES = 2


def failure(error: Exception, pipeline: Pipeline) -> SemiStreamError:
    """The error to show, without secrets. Our own come from the workers under their own type."""
    again = f"start the pipeline again: it goes on from its checkpoint {pipeline.checkpoint}"
    if is_gone(error):
        return QueryError(
            f"Spark's process ended while the pipeline ran, or can't be reached any more; {again}"
        )
    text = str(error)
    ours = raised_by_worker(error)
    lost = next((what for sign, what in _LOST.items() if sign in text), None)
    if ours is None and lost is not None:
        return QueryError(f"{lost} (killed, out of memory or crashed: Spark's log may say more); {again}")
    said = without_values(str(ours) if ours is not None else _cause(text), *_written(pipeline))
    said = f"{said.rstrip('.')}; once that is mended, {again}"
    return type(ours)(said) if ours is not None else QueryError(said)


def _cause(text: str) -> str:
    """What Spark calls by name, from the outside in; else the innermost exception of Java's or Python's."""
    found = []
    for name, message in _CONDITION.findall(text):
        sentence = re.split(r"\s+SQLSTATE: ", message)[0].strip()
        if name not in _WRAPPERS and sentence not in found:
            found.append(sentence)
    if found:
        return " ".join(found[:_MOST_CAUSES])
    raised = _JAVA.findall(text) or _RAISED.findall(text)
    if raised:
        name, message = raised[-1]
        return f"{name.rpartition('.')[2]}: {message}"
    return next((line.strip() for line in text.splitlines() if line.strip()), "Spark gave no reason")


def _written(pipeline: Pipeline) -> list[str]:
    """Every text of the file that may hold a `${NAME}`."""
    options = [*(one.options for one in pipeline.sources), *(one.options for one in pipeline.lookups)]
    return [
        pipeline.sink.url,
        *(one.master for one in pipeline.lookups),
        *(str(value) for table in options for value in table.values()),
    ]
