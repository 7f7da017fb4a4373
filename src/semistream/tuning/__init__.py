"""Fitting a join to a machine, a master and a stream: what its units cost, and which settings suit."""

from semistream.tuning.tuner import Tuned, tune

__all__ = ["Tuned", "tune"]
