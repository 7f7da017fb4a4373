"""The formulas as the papers print them, with the numbers they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semistream.costs import model
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts, zipf_key_shares
from semistream.costs.printed import hybridjoin_matches, ideal_hit_ratio, pending_rows
from semistream.costs.renewal import page_shares, rows_per_load_pinned, zipf_shares
from semistream.costs.tuned_x_hybridjoin import mean_matches, printed_matches

# Each unit a power of ten of its own, so that a sum shows how often each was charged.
UNITS = UnitCosts(probe=1.0, output=1e2, delete=1e4, read=1e6, append=1e8, copy=1e10, index=1e12)
DEVICE = DeviceCosts(3e14, 1e300)
SITUATION = Situation(
    key_shares=zipf_key_shares(1000, 1.0),
    partition_rows=10,
    pending_rows=1000,
    cache_rows=100,
    cached_partitions=2,
    intermediate_rows=50,
)
ROW = 8 * 20 + 12


def per_load(name: str, situation: Situation = SITUATION) -> tuple[float, Prediction]:
    """Seconds of one iteration of the printed loop."""
    found = model(name).paper(situation, UNITS, DEVICE)
    return found.seconds * found.rows_per_load, found


@pytest.mark.parametrize(
    ("rows", "kept", "loaded", "pending", "share", "printed", "mean", "renewal"),
    [
        (2_000_000, 500, 500, 300_000, 0.450, 100, 136, 279),
        (2_000_000, 5000, 500, 300_000, 0.603, 99, 189, 383),
        (2_000_000, 20_000, 500, 200_000, 0.695, 64, 165, 335),
        (200_000, 500, 500, 20_000, 0.531, 66, 107, 217),
    ],
)
def test_matches_of_tuned_x_hybridjoin(
    rows: int, kept: int, loaded: int, pending: int, share: float, printed: int, mean: int, renewal: int
) -> None:
    """S1 Eq. 6 and S2 Eq. 9, with a mean for their variance, and by renewal."""
    shares = zipf_shares(rows, 1.0)
    kept_share, partitions = float(shares[:kept].sum()), (rows - kept) / loaded
    assert kept_share == pytest.approx(share, abs=6e-4)
    assert round(printed_matches(pending, kept_share, partitions)) == printed
    assert round(mean_matches(pending, kept_share, partitions)) == mean
    found = rows_per_load_pinned(page_shares(shares, loaded), kept // loaded, pending, strict=True)
    assert found == pytest.approx(renewal, rel=0.01)


@pytest.mark.parametrize(("memory", "rows"), [(50 << 20, 304_225), (250 << 20, 1_523_500)])
def test_pending_rows_of_a_budget(memory: int, rows: int) -> None:
    """One buffer of 850 rows of 120 bytes, and 172 bytes a waiting row."""
    assert pending_rows(memory, SITUATION, 850 * 120) == pytest.approx(rows, abs=50)


def test_matches_of_hybridjoin() -> None:
    """S3 Eq. 2 with k = 1.36; the renewal model expects half as many again."""
    situation = replace(
        SITUATION, key_shares=zipf_shares(2_000_000, 1.0), partition_rows=850, pending_rows=304_225
    )
    assert hybridjoin_matches(situation) == pytest.approx(175.8, abs=0.1)
    free = rows_per_load_pinned(situation.partition_shares, 0, 304_225)
    assert free == pytest.approx(262, rel=0.02)


def test_hybridjoin() -> None:
    """S3 Eq. 1 and 3, w = 1.36 x 1000 x 10 / 1000."""
    seconds, found = per_load("hybridjoin")
    w = 13.6
    assert found.rows_per_load == pytest.approx(w)
    assert seconds == pytest.approx(3e14 + 10 + w * (1e2 + 1e4 + 1e6 + 1e8))
    assert found.memory_bytes == 10 * 120 + 1000 * ROW


def test_x_hybridjoin() -> None:
    """S2 Eq. 1 and 2: two buffers, both probed."""
    seconds, found = per_load("x_hybridjoin")
    w = found.rows_per_load
    assert seconds == pytest.approx(3e14 + 20 + w * (1e2 + 1e4 + 1e6 + 1e8))
    assert found.memory_bytes == 2 * 10 * 120 + 1000 * ROW


def test_tuned_x_hybridjoin() -> None:
    """S1 Eq. 1 and 2, S2 Eq. 4 and 5: k = 1, l = 2."""
    seconds, found = per_load("tuned_x_hybridjoin")
    w = printed_matches(1000, float(SITUATION.key_shares[:20].sum()), 98)
    assert found.rows_per_load == pytest.approx(w)
    assert seconds == pytest.approx(3e14 + 30 + w * (1e2 + 1e4 + 1e6 + 1e8))
    assert found.memory_bytes == 3 * 10 * 120 + 1000 * ROW


def test_meshjoin() -> None:
    """w = h_S / n; 20 loads a step of R-MESHJOIN, so 20 times as many rows."""
    seconds, found = per_load("meshjoin")
    assert found.rows_per_load == pytest.approx(10)
    assert seconds == pytest.approx(3e14 + 10 + 10 * (1e2 + 1e4 + 1e6 + 1e8))
    assert found.memory_bytes == 10 * 120 + 10 * 20 + 1000 * (8 * 20 + 4)
    step, several = per_load("r_meshjoin", replace(SITUATION, loads_per_chunk=20))
    assert several.rows_per_load == pytest.approx(10)
    assert 20 * step == pytest.approx(20 * 3e14 + 20 * 10 + 200 * (1e2 + 1e4 + 1e6 + 1e8))


def test_inlj() -> None:
    seconds, found = per_load("inlj")
    assert seconds == pytest.approx(3e14 + 1e2 + 1e6)
    assert found.rows_per_load == 1
    assert found.memory_bytes == 10 * 120 + 20


@pytest.mark.parametrize(
    ("name", "load", "appends", "fixed"),
    [
        ("cachejoin", 3e14, 1, 110 * 120),
        ("sscj", 3e14, 1, 110 * 120),
        ("cachejoin_l", 3e14, 1, 110 * 120),
        ("cachejoin_pq", 3e14, 1, 110 * 120 + 16 * 100),
        ("p_cachejoin", 3e14, 2, 110 * 120 + 50 * 20),
        ("op_cachejoin", 1.5e14, 2, 120 * 120 + 50 * 20),
    ],
)
def test_cachejoin_family(name: str, load: float, appends: int, fixed: int) -> None:
    """S5 Eq. 1 and 2: a serial sum, whoever runs side by side; OP-CACHEJOIN with half the I/O."""
    seconds, found = per_load(name)
    missed, hit_ratio = 13.6, float(SITUATION.key_shares[:100].sum())
    hits = missed * hit_ratio / (1 - hit_ratio)
    assert found.hit_ratio == pytest.approx(hit_ratio)
    assert found.rows_per_load == pytest.approx(missed + hits)
    expected = load + 10 * (1 + 1e10) + missed * (1e2 + 1e6 + 1e4 + appends * 1e8)
    assert seconds == pytest.approx(expected + hits * (1 + 1e2 + 1e6))
    assert found.memory_bytes == fixed + 1000 * ROW


@pytest.mark.parametrize("name", ["hybridjoin_l", "hybridjoin_pq"])
def test_nothing_new_is_printed(name: str) -> None:
    """S4 gives no cost of its own; a node of the priority queue takes 16 bytes."""
    printed, hybridjoin = per_load(name)[1], per_load("hybridjoin")[1]
    nodes = 16 * 100 if name == "hybridjoin_pq" else 0
    assert printed == replace(hybridjoin, memory_bytes=hybridjoin.memory_bytes + nodes)


def test_ssij() -> None:
    """The partitions that a queue needs, of uniform keys: 98 (1 - (1 - 1/98)^1000), almost all of them."""
    uniform = replace(SITUATION, key_shares=np.full(1000, 1e-3))
    found = per_load("ssij", uniform)[1]
    loads = 98 * (1 - (1 - 1 / 98) ** 1000)
    assert found.hit_ratio == pytest.approx(0.02)
    assert found.rows_per_load == pytest.approx(1000 / 0.98 / loads)
    assert found.memory_bytes == 3 * 10 * 120 + 1000 * 24


def test_partitioned_join() -> None:
    """Every load answers half of h_S / n rows, or the slot that is given."""
    seconds, found = per_load("partitioned_join")
    assert found.rows_per_load == 5
    assert seconds == pytest.approx(3e14 + 10 * 1e10 + 5 * (1e2 + 1e4 + 1e6 + 1e8))
    assert per_load("partitioned_join", replace(SITUATION, slot_rows=8))[1].rows_per_load == 8


def test_an_ideal_cache_holds_the_most_frequent_rows_wherever_they_lie() -> None:
    scattered = zipf_key_shares(1000, 1.0, "scattered", seed=3)
    assert ideal_hit_ratio(replace(SITUATION, key_shares=scattered)) == pytest.approx(
        ideal_hit_ratio(SITUATION)
    )
    assert ideal_hit_ratio(replace(SITUATION, cache_rows=0)) == 0
    assert ideal_hit_ratio(replace(SITUATION, cache_rows=5000)) == 1
