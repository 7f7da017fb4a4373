"""Fitting a join to a machine, a master and a stream: what its units cost, and the settings it should have."""

from semistream.tuning.tuner import Tuned, tune

__all__ = ["Tuned", "tune"]
