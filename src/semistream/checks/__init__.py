"""Conformance checks, shipped so that other people's algorithms and stores can be held to them.

Ids read `algorithm:store:check`. `run` runs them and says how each came out; `cases` gives them to
pytest:

    @pytest.mark.parametrize("case", checks.cases(algorithm="mine"), ids=lambda case: case.id)
    def test_mine(case, tmp_path):
        case(checks.Stores(tmp_path))

A join or a store that isn't found by name is looked at through a `Subject`:

    for check in checks.all_checks():
        if check.applies_to("hybridjoin"):
            check.run(checks.Subject("hybridjoin", "mine", open_store=open_mine))
"""

from __future__ import annotations

from semistream.checks.base import Check, CheckFailure, Subject, Trial, check, expect
from semistream.checks.data import MasterData
from semistream.checks.recording import Delay, Failing, Gate, Read, RecordingStore
from semistream.checks.running import Case, Outcome, all_checks, cases, not_run, run
from semistream.checks.stores import KINDS, Stores

__all__ = [
    "KINDS",
    "Case",
    "Check",
    "CheckFailure",
    "Delay",
    "Failing",
    "Gate",
    "MasterData",
    "Outcome",
    "Read",
    "RecordingStore",
    "Stores",
    "Subject",
    "Trial",
    "all_checks",
    "cases",
    "check",
    "expect",
    "not_run",
    "run",
]
