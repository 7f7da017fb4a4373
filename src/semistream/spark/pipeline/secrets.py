"""Secrets stand in a pipeline file as `${NAME}`, and are taken from the environment where something connects.

Until then the text travels as it was written. What is shown of an error has the values taken out again.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any

from semistream.errors import PipelineError

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_SECRET_KEY = re.compile(
    r"passw(or)?d|passphrase|pwd|secret|token|credential|jaas|(access|account|api|private|shared)[._-]?key",
    re.IGNORECASE,
)
# In a URL, `user:word@`; elsewhere `password=word` and its like, also quoted.
_IN_URL = re.compile(r"://[^/\s:@]*:(?P<secret>[^/\s@]+)@")
_ASSIGNED = re.compile(
    r"(passw(or)?d|passphrase|pwd|secret|token|(access|account|api|private|shared)[._-]?key)"
    r"\s*=\s*[\"']?(?P<secret>[^\s\"'&;,]+)",
    re.IGNORECASE,
)

MakeError = Callable[[str, str], PipelineError]


def refuse_literal_secrets(error: MakeError, key: str, value: str, *, named: bool = False) -> None:
    """An error where a value holds what looks like a secret. The error doesn't repeat it.

    `named`: the key is a name of the user's, such as a column's, and says nothing of the value.
    """
    advice = (
        "a secret doesn't belong in a file: write ${NAME}, and give NAME in the environment of the workers"
    )
    if not named and _SECRET_KEY.search(key) and not PLACEHOLDER.search(value):
        raise error(key, f"holds a literal value, and {advice}")
    for pattern in (_IN_URL,) if named else (_IN_URL, _ASSIGNED):
        for found in pattern.finditer(value):
            if not PLACEHOLDER.fullmatch(found["secret"]):
                raise error(key, f"holds a literal password, and {advice}")


def refuse_placeholders(error: MakeError, key: str, value: str) -> None:
    """`${NAME}` only works where something connects; anywhere else it would end up in a plan or a log."""
    found = PLACEHOLDER.search(value)
    if found is not None:
        raise error(
            key,
            f"{found[0]} can't stand here: values of the environment are for the options of a source and the "
            "url of a sink",
        )


def resolved(text: str) -> str:
    """The text with the values of the environment of this process."""
    return PLACEHOLDER.sub(lambda found: _value(found[1]), text)


def resolved_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as Spark takes them.

    >>> resolved_options({"header": True, "maxFilesPerTrigger": 1})
    {'header': 'true', 'maxFilesPerTrigger': '1'}
    """
    return {
        name: str(value).lower() if isinstance(value, bool) else resolved(str(value))
        for name, value in options.items()
    }


def without_values(text: str, *written: str) -> str:
    """A message without what the `${NAME}`s in these texts stand for."""
    for value in written:
        for name in PLACEHOLDER.findall(value):
            secret = os.environ.get(name)
            if secret:
                text = text.replace(secret, "***")
    return text


def _value(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise PipelineError(
            f"${{{name}}} isn't set in the environment of the process on {socket.gethostname()}: export it "
            "before the start (for executors: spark.executorEnv, or their containers)"
        )
    return value
