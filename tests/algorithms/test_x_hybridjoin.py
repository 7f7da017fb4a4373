"""X-HYBRIDJOIN answers the first partition's rows at once, and loads what its model says."""

from __future__ import annotations

import pytest

from semistream import SemiStreamJoin
from semistream.costs.renewal import rows_per_load_pinned
from semistream.phases.loading import Loaded
from semistream.phases.page_phase import Batches, PagePhase
from semistream.workloads.keys import zipf_keys
from tests.algorithms.steady import MEASURED, PENDING, TRACES, Trace, counted, shares, steady
from tests.algorithms.traces import feed, master_of

PINNED = {
    ("sorted", 0.0): 735,
    ("sorted", 0.5): 659,
    ("sorted", 1.0): 315,
    ("scattered", 0.0): 741,
    ("scattered", 0.5): 729,
    ("scattered", 1.0): 715,
}


def test_loads_are_those_pinned() -> None:
    assert counted("x_hybridjoin") == PINNED


@pytest.mark.parametrize(
    ("trace", "strict_paper"),
    [*((trace, False) for trace in TRACES), (("sorted", 0.5), True), (("sorted", 1.0), True)],
)
def test_a_load_answers_what_the_renewal_model_says(trace: Trace, strict_paper: bool) -> None:
    found = steady("x_hybridjoin", trace, strict_paper=strict_paper)
    expected = rows_per_load_pinned(shares(trace), 1, PENDING, strict=strict_paper)
    assert found.rows_per_load == pytest.approx(expected, rel=0.05)
    hot = float(shares(trace)[0])
    assert found.cache_hits == pytest.approx(MEASURED * PENDING * hot, rel=0.15, abs=20)


def test_hot_rows_take_slots_in_the_papers_loop() -> None:
    trace = ("sorted", 1.0)
    paper = steady("x_hybridjoin", trace, strict_paper=True)
    assert paper.loads > steady("x_hybridjoin", trace).loads


def test_the_kept_partition_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[int] = []
    answer = PagePhase.answer

    def watched(phase: PagePhase, loaded: Loaded, loads: int) -> Batches:
        answered.append(loaded.first)
        yield from answer(phase, loaded, loads)

    monkeypatch.setattr(PagePhase, "answer", watched)
    with SemiStreamJoin(
        master_of(range(1000), 10), memory="1MiB", algorithm="x_hybridjoin", pending_rows=50
    ) as join:
        feed(join, zipf_keys(1000, 1000, 1.0), 200)
        assert join.stats.loads == len(answered) + 1
        assert 0 not in answered
