"""Every check has a join or a store that it rejects, and lets the real one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from semistream import checks
from semistream.algorithms import algorithm as find_algorithm
from semistream.algorithms import names
from semistream.algorithms.base import Algorithm, Settings, Workshop
from semistream.algorithms.hybridjoin import HybridJoin
from semistream.checks import threads
from semistream.stores.base import Store
from tests.checks import broken as b
from tests.checks import signatures as s


@dataclass(frozen=True)
class Broken:
    """A check, the algorithm it is run for, what stands in for it, and what the failure says."""

    check: str
    algorithm: str
    make_join: b.MakeJoin
    says: str

    @property
    def id(self) -> str:
        what = getattr(self.make_join, "__name__", "make")
        return f"{self.algorithm}:{self.check}:{what}:{self.says}"


def cousin(check: str, algorithm: str, plainer: str, says: str) -> Broken:
    """An algorithm quietly replaced by a plainer one."""
    return Broken(check, algorithm, b.passed_off(find_algorithm(plainer), find_algorithm(algorithm)), says)


def inside(check: str, algorithm: str, kind: type[Algorithm], says: str) -> Broken:
    kept = type(kind.__name__, (kind,), {"settings_type": find_algorithm(algorithm).settings_type})
    return Broken(check, algorithm, b.of(kept), says)


COUSINS = [
    cousin("each_row_has_its_own_load", "inlj", "hybridjoin", "to be loaded"),
    cousin("the_master_is_scanned_in_a_cycle", "meshjoin", "hybridjoin", "over and over"),
    cousin("loads_do_not_depend_on_skew", "meshjoin", "hybridjoin", "5.0 rows a load exactly"),
    cousin(
        "a_chunk_comes_with_every_few_loads", "r_meshjoin", "meshjoin", "expected 4 loads a chunk, and saw 1"
    ),
    cousin("the_fullest_slot_is_loaded", "partitioned_join", "hybridjoin", "to be loaded"),
    cousin("cached_pages_save_their_share_of_loads", "partitioned_join", "hybridjoin", "saw 0.00"),
    cousin("a_full_queue_is_emptied_in_one_phase", "ssij", "hybridjoin", "to be loaded"),
    cousin("cached_pages_save_their_share_of_loads", "ssij", "hybridjoin", "saw 0.00"),
    cousin("loads_are_those_of_the_renewal_model", "hybridjoin", "meshjoin", "rows a load at Zipf 0.0"),
    cousin("the_row_at_a_position_is_looked_up", "hybridjoin_l", "hybridjoin", "to be loaded"),
    cousin("younger_pages_save_loads", "hybridjoin_l", "hybridjoin", "rows a load or more"),
    cousin("rows_that_were_passed_over_grow_old", "hybridjoin_l", "hybridjoin", "of an age of"),
    cousin("frequent_pages_save_loads", "hybridjoin_pq", "hybridjoin", "rows a load or more"),
    cousin("pinned_pages_save_their_share_of_loads", "x_hybridjoin", "hybridjoin", "with 1 pages pinned"),
    cousin("pinned_pages_are_read_once", "x_hybridjoin", "hybridjoin", "to be read once"),
    cousin("pinned_pages_save_their_share_of_loads", "tuned_x_hybridjoin", "x_hybridjoin", "with 10 pages"),
    cousin("cached_rows_save_their_share_of_loads", "cachejoin", "hybridjoin", "saw 0.00"),
    cousin("hot_rows_are_promoted", "cachejoin", "hybridjoin", "saw 0 and 8"),
    cousin("the_least_frequent_rows_leave", "sscj", "cachejoin", "of all rows or more"),
    cousin("the_row_at_a_position_is_looked_up", "cachejoin_l", "cachejoin", "to be loaded"),
    cousin("rows_that_were_passed_over_grow_old", "cachejoin_l", "cachejoin", "of an age of"),
    cousin("frequent_pages_save_loads_behind_a_cache", "cachejoin_pq", "cachejoin", "rows a load or more"),
    cousin("pages_have_a_thread_of_their_own", "p_cachejoin", "cachejoin", "the pages on one thread"),
    cousin("rows_are_taken_in_while_a_page_is_loading", "p_cachejoin", "cachejoin", "is held up"),
    cousin("both_ends_are_looked_up_in_turn", "op_cachejoin", "p_cachejoin", "to be loaded"),
    cousin("two_loads_are_in_flight", "op_cachejoin", "p_cachejoin", "and saw 1"),
]

OUTPUTS = [
    Broken(check, algorithm, join, says)
    for algorithm in ("hybridjoin", "cachejoin_pq")
    for check, join, says in [
        ("exact_for_every_how", b.DropsARow, "1 are missing"),
        ("exact_for_every_how", b.DoublesARow, "1 are too many"),
        ("exact_for_every_how", b.InnerForLeft, "0 are too many"),
        ("exact_for_every_how", b.ForgetsUnmatchedRows, "0 are too many"),
        ("exact_with_duplicate_master_keys", b.ForgetsDuplicates, "0 are too many"),
        ("exact_for_string_keys", b.CutsKeysShort, "are missing"),
        ("exact_for_composite_keys", b.LooksAtOnePart, "are missing"),
        ("exact_for_batches_of_any_size", b.LosesSingleRows, "2 are missing"),
        ("exact_with_status", b.CallsNullsUnmatched, "'unmatched'"),
        ("output_schema_is_as_promised", b.LosesMetadata, "expected a batch of"),
        ("output_batches_are_bounded", b.PutsEverythingIntoOneBatch, "batches of 1 to 16 rows"),
        ("the_callers_batch_is_untouched", b.WritesIntoTheCallersBatch, "bytes have changed"),
        ("output_stays_as_it_was_given", b.ReusesOutput, "to stay as they were"),
        ("another_schema_is_refused", b.TakesAnySchema, "and saw none"),
        ("stepping_answers_every_row", b.StepsDoNothing, "no row to wait after"),
        ("draining_is_stepping_until_idle", b.DrainsOneStep, "no row to wait after a drain"),
        ("few_rows_are_drained_too", b.DrainsFullChunksOnly, "and saw 1 waiting"),
        ("failures_reach_the_caller", b.SwallowsFailures, "and saw none"),
        ("closing_ends_it", b.DoesNotClose, "refuse a push as closed"),
        ("account_stays_within_the_budget", b.SaysNothingOfItsMemory, "saw held 0"),
        ("memory_stays_within_the_budget", b.UnboundedDictionary, "of uncounted objects"),
    ]
]

INSIDE = [
    inside("exact_for_every_how", "hybridjoin", b.MatchesNulls, "are missing"),
    inside("exact_where_hashes_collide", "hybridjoin", b.ComparesHashesOnly, "are too many"),
    inside("exact_with_duplicate_master_keys", "hybridjoin", b.StopsAtThePagesEnd, "0 are too many"),
    inside("loads_only_while_the_queue_is_full", "hybridjoin", b.LoadsWithoutNeed, "expected no load"),
    inside("a_rare_row_is_answered", "hybridjoin", b.YoungestFirst, "it still waits"),
    inside("the_oldest_row_is_looked_up", "hybridjoin", b.YoungestFirst, "to be loaded"),
    inside(
        "a_chunk_comes_with_every_load", "meshjoin", s.FourLoadsAChunk, "expected 1 loads a chunk, and saw 4"
    ),
    inside("exact_for_every_how", "meshjoin", s.MissesTheLastPartition, "are missing"),
    inside("the_master_is_scanned_in_a_cycle", "meshjoin", s.MissesTheLastPartition, "over and over"),
    inside("hot_rows_are_promoted", "cachejoin", s.NeverPromotes, "saw 0 and 8"),
    inside("cached_rows_save_their_share_of_loads", "cachejoin", s.NeverPromotes, "saw 0.00"),
    inside("a_cache_holds_no_more_than_it_may", "cachejoin", s.CachesTwiceAsMuch, "at most 20 cached rows"),
    inside("pinned_pages_are_read_once", "x_hybridjoin", s.ReloadsThePinned, "to be read once"),
    inside("a_full_slot_is_loaded_at_once", "partitioned_join", s.WaitsForAFullQueue, "and saw \\[\\]"),
    inside("a_slow_stream_is_answered_row_by_row", "partitioned_join", s.NeverOneByOne, "and saw \\[\\]"),
    inside("cached_pages_save_their_share_of_loads", "partitioned_join", s.CachesNoPartition, "saw 0.00"),
    inside("the_least_recently_used_page_leaves", "partitioned_join", s.FirstInFirstOut, "loads of pages"),
    inside("the_most_useful_pages_stay", "ssij", s.KeepsTheLatest, "read once and kept"),
    inside("a_full_queue_is_emptied_in_one_phase", "ssij", s.LeavesTheQueueHalfFull, "to be loaded"),
    inside("pages_have_a_thread_of_their_own", "p_cachejoin", s.LoadsOnTheCallersThread, "the pages on one"),
    inside(
        "rows_are_taken_in_while_a_page_is_loading", "p_cachejoin", s.LoadsOnTheCallersThread, "is held up"
    ),
    inside("two_loads_are_in_flight", "op_cachejoin", s.OneLoader, "and saw 1"),
    Broken(
        "everything_is_done_on_the_callers_thread",
        "cachejoin",
        b.of(find_algorithm("p_cachejoin")),
        "on the caller's thread",
    ),
    Broken("one_load_is_in_flight", "p_cachejoin", b.of(find_algorithm("op_cachejoin")), "saw two at once"),
]

BROKEN = COUSINS + OUTPUTS + INSIDE


def check_named(name: str) -> checks.Check:
    return next(check for check in checks.all_checks() if check.name == name)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> checks.Stores:
    return checks.Stores(tmp_path_factory.mktemp("stores"))


def subject(stores: checks.Stores, algorithm: str, make_join: b.MakeJoin) -> checks.Subject:
    return checks.Subject(algorithm, "memory", lambda master: stores.open("memory", master), make_join)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.id)
def test_rejects(broken: Broken, stores: checks.Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    check = check_named(broken.check)
    assert check.why_not(broken.algorithm, "memory") is None
    with pytest.raises(checks.CheckFailure, match=broken.says) as failure:
        check.run(subject(stores, broken.algorithm, broken.make_join))
    assert failure.value.__cause__ is None, "it fell over, which is not what was to be seen"


def test_the_real_ones_are_held_to_the_same_checks() -> None:
    """Each pair below is a case of `test_conformance`, where `SemiStreamJoin` as it is passes."""
    passing = {(case.check.name, case.algorithm) for case in checks.cases(store="memory")}
    assert {(broken.check, broken.algorithm) for broken in BROKEN} <= passing


def test_every_check_has_something_to_reject() -> None:
    assert {broken.check for broken in BROKEN} == {check.name for check in checks.all_checks()}


def test_every_algorithm_has_a_plainer_cousin() -> None:
    assert {broken.algorithm for broken in COUSINS} == set(names())


@pytest.mark.parametrize("wrong", [b.LosesTheLastRow, b.ChangesPrices])
def test_rejects_a_store(wrong: Callable[[Store], Store], stores: checks.Stores) -> None:
    made = checks.Subject("hybridjoin", "wrong", lambda master: wrong(stores.open("memory", master)))
    with pytest.raises(checks.CheckFailure, match="are missing"):
        check_named("exact_for_every_how").run(made)


def test_rejects_a_key_that_is_looked_for_on_its_first_page_only(stores: checks.Stores) -> None:
    """Parquet's statistics don't tell whether a page's first string ends the page before: it is behind."""

    class ReadsOnFromMatchesOnly(HybridJoin):
        def __init__(self, workshop: Workshop, settings: Settings) -> None:
            super().__init__(workshop, settings)
            real = self.page_phase._read_on
            self.page_phase._read_on = (  # type: ignore[method-assign]
                lambda taken, loaded, rows, matched: real(taken, loaded, rows[matched[rows]], matched)
            )

    made = checks.Subject(
        "hybridjoin", "parquet", lambda master: stores.open("parquet", master), b.of(ReadsOnFromMatchesOnly)
    )
    for name in ("exact_for_string_keys", "exact_for_composite_keys"):
        with pytest.raises(checks.CheckFailure, match="are missing"):
            check_named(name).run(made)


def test_an_error_is_a_failure_that_names_it(stores: checks.Stores) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise ZeroDivisionError("nothing to divide by")

    with pytest.raises(checks.CheckFailure, match=r"hybridjoin:memory:few_rows.*ZeroDivisionError: nothing"):
        check_named("few_rows_are_drained_too").run(subject(stores, "hybridjoin", refuse))  # type: ignore[arg-type]
