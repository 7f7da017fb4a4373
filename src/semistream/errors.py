"""Every exception semistream raises on purpose.

One small hierarchy: catch :class:`SemiStreamError` for all of them, or the built-in type each one
also is (`ValueError`, `TypeError`, ...) when a caller knows nothing of this package.
Each message names what was given, what was expected, and what to do next.
"""

from __future__ import annotations


class SemiStreamError(Exception):
    """The root of everything raised on purpose."""


class ArgumentError(SemiStreamError, ValueError):
    """An argument has a value that can't be used."""


class ColumnError(SemiStreamError, ValueError):
    """A column is missing, or two columns would get one name."""


class KeyTypeError(SemiStreamError, TypeError):
    """Key columns have types that can't be joined without losing information."""


class SchemaError(SemiStreamError, ValueError):
    """A batch's schema differs from the one the join began with."""


class DuplicateKeyError(SemiStreamError, ValueError):
    """`validate="m:1"` was asked for and the master has a key twice."""


class BudgetError(SemiStreamError, ValueError):
    """The memory budget is smaller than the least an algorithm can work in."""


class UsageError(SemiStreamError, RuntimeError):
    """A call came at a time when it can't be answered (a closed join, an unfinished push)."""


class StoreError(SemiStreamError, OSError):
    """A master can't be opened or read."""


class CorruptStoreError(StoreError):
    """A master's files don't hold what was written to them."""


class VersionGoneError(StoreError):
    """The version of a master that was asked for no longer exists."""


class MissingDependencyError(SemiStreamError, ImportError):
    """An optional dependency isn't installed."""


class PipelineError(SemiStreamError, ValueError):
    """A pipeline file asks for something that can't be done."""


class QueryError(SemiStreamError, RuntimeError):
    """A running pipeline came to an end that nobody asked for."""


class WorkerError(SemiStreamError, RuntimeError):
    """Spark's Python workers can't do their part: another Python, a missing package, no disk."""
