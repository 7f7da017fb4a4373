"""Why a query ended: the one cause, out of what Spark wraps around it."""

from __future__ import annotations

import re

from semistream.errors import QueryError, SemiStreamError
from semistream.spark.index import raised_by_worker
from semistream.spark.pipeline.file import Pipeline
from semistream.spark.pipeline.secrets import without_values

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ([^\n]+)")
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED")
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)): (.*)$", re.MULTILINE)
_MOST_CAUSES = 2


def failure(error: Exception, pipeline: Pipeline) -> SemiStreamError:
    """The error to show, without secrets. Our own come from the workers under their own type."""
    text = str(error)
    ours = raised_by_worker(error)
    said = str(ours) if ours is not None else _cause(text)
    said = without_values(said, *_written(pipeline))
    return type(ours)(said) if ours is not None else QueryError(said)


def _cause(text: str) -> str:
    """What Spark calls by name, from the outside in; else the innermost exception of Python's."""
    found = []
    for name, message in _CONDITION.findall(text):
        sentence = re.split(r"\s+SQLSTATE: ", message)[0].strip()
        if name not in _WRAPPERS and sentence not in found:
            found.append(sentence)
    if found:
        return " ".join(found[:_MOST_CAUSES])
    raised = _RAISED.findall(text)
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
