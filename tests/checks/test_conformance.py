"""Every check over every algorithm and every kind of store."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from semistream import checks
from semistream.algorithms import names
from semistream.errors import ArgumentError


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> checks.Stores:
    return checks.Stores(tmp_path_factory.mktemp("stores"))


@pytest.mark.parametrize("case", checks.cases(), ids=lambda case: case.id)
def test_conforms(case: checks.Case, stores: checks.Stores) -> None:
    refused = stores.why_not(case.store)
    if refused:
        pytest.skip(refused)
    case(stores)


def test_ids_cover_algorithms_stores_and_checks() -> None:
    every = {
        f"{algorithm}:{store}:{check.name}"
        for algorithm, store, check in product(names(), checks.KINDS, checks.all_checks())
    }
    ran, left_out = {case.id for case in checks.cases()}, checks.not_run()
    assert ran | set(left_out) == every
    assert not ran & set(left_out)
    assert all(left_out.values()), "a case is left out for no reason"


def test_every_check_runs_somewhere_and_every_pair_has_the_general_ones() -> None:
    ran = checks.cases()
    assert {case.check for case in ran} == set(checks.all_checks())
    general = {check for check in checks.all_checks() if check.algorithms is None and check.stores is None}
    exempt = {"loads_only_while_the_queue_is_full"}  # of algorithms whose class is `eager`
    for algorithm, store in product(names(), checks.KINDS):
        here = {case.check.name for case in ran if (case.algorithm, case.store) == (algorithm, store)}
        assert {check.name for check in general} - here <= exempt
    assert len(general) > 15


def test_every_algorithm_has_a_signature() -> None:
    """Checks that only some algorithms have: at least one each beside the schedule's."""
    for algorithm in names():
        own = {case.check.name for case in checks.cases(algorithm, "memory") if case.check.algorithms}
        assert own - {"everything_is_done_on_the_callers_thread"}, algorithm


def test_names_are_unique_and_checks_say_what_they_hold() -> None:
    names_of = [check.name for check in checks.all_checks()]
    assert len(names_of) == len(set(names_of))
    assert all(check.doc for check in checks.all_checks())


def test_run_gives_an_outcome_for_each_case(tmp_path: Path) -> None:
    outcomes = checks.run("hybridjoin", "memory", folder=tmp_path)
    assert [outcome.id for outcome in outcomes] == [case.id for case in checks.cases("hybridjoin", "memory")]
    assert all(outcome.passed for outcome in outcomes), [o.message for o in outcomes if not o.passed]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ArgumentError, match="algorithm='hashjoin' is not known; there are cachejoin"):
        checks.cases("hashjoin")
    with pytest.raises(ArgumentError, match="store='tape' is not known; there are memory"):
        checks.run(store="tape")
