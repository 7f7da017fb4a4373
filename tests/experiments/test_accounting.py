"""What a memory holds in the papers' accounting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semistream.algorithms import names
from semistream.errors import ArgumentError
from semistream.experiments.accounting import PARALLEL, capacities, partitions_of
from semistream.experiments.cells import Cell

PAPER = Cell("hybridjoin", 2_000_000, 1.0, "frequency", 50 << 20, 850)


@pytest.mark.parametrize(("memory", "rows"), [(50, 304_225), (250, 1_523_500)])
def test_pending_rows_of_the_papers_memory(memory: int, rows: int) -> None:
    assert capacities(replace(PAPER, memory=memory << 20)).pending_rows == pytest.approx(rows, abs=250)


def test_a_node_of_four_bytes() -> None:
    fixed = 850 * 120
    assert capacities(replace(PAPER, queue_node_bytes=4)).pending_rows == ((50 << 20) - fixed) // 164


@pytest.mark.parametrize("name", names())
def test_every_byte_is_given_out_and_none_twice(name: str) -> None:
    cell = replace(PAPER, algorithm=name)
    if name in PARALLEL:
        cell = replace(cell, settings=(("intermediate_bytes", 2 << 20),))
    split = capacities(cell)
    charged = split.paper_bytes(cell)
    assert charged <= cell.memory
    if name != "inlj":  # which leaves all but a page unused
        assert cell.memory - charged < 172


def test_what_each_front_takes() -> None:
    def of(name: str, **settings: float) -> dict[str, int]:
        cell = replace(PAPER, algorithm=name, settings=tuple(sorted(settings.items())))
        return capacities(cell).as_json(cell)

    quarter = (50 << 20) // 4
    assert of("cachejoin")["cache_rows"] == quarter // 120
    assert of("cachejoin", cache_share=0.5)["cache_rows"] == 2 * quarter // 120
    assert of("ssij")["cached_partitions"] == quarter // (850 * 120)
    assert of("x_hybridjoin")["cached_partitions"] == 1
    assert of("tuned_x_hybridjoin", pinned_rows=1_000)["cached_partitions"] == 2
    assert of("op_cachejoin", intermediate_bytes=2_000)["intermediate_rows"] == 100
    one, two = of("p_cachejoin")["pending_rows"], of("op_cachejoin")["pending_rows"]
    assert one - two == pytest.approx(850 * 120 / 172, abs=1), "a second disk buffer"


def test_the_tuned_front_follows_the_skew() -> None:
    def pinned(exponent: float) -> int:
        return capacities(replace(PAPER, algorithm="tuned_x_hybridjoin", exponent=exponent)).cached_partitions

    assert pinned(0.0) == 1
    assert pinned(0.5) < pinned(1.0)
    assert (
        capacities(replace(PAPER, algorithm="tuned_x_hybridjoin", order="scattered")).cached_partitions == 1
    )


def test_a_memory_without_room_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no room for pending rows beside its buffers"):
        capacities(replace(PAPER, memory=850 * 120))


def test_partitions_are_rounded_up() -> None:
    assert partitions_of(replace(PAPER, master_rows=851)) == 2
