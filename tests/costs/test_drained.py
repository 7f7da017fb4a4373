"""The prediction of a drained batch's loads, against drawing keys and counting pages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import semistream as ss
from semistream.costs.drained import drained_batch
from semistream.costs.renewal import zipf_shares


def drawn(rng: np.random.Generator, rows: int, keys: int, exponent: float) -> np.ndarray:
    """Ranks of random keys, from 0."""
    return rng.choice(keys, size=rows, p=zipf_shares(keys, exponent))


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("cached", [0, 10, 5_000])
@pytest.mark.parametrize("rows", [100, 3_000, 40_000])
def test_pages_of_a_batch_that_fits(exponent: float, cached: int, rows: int) -> None:
    keys, pages = 20_000, 400
    rng = np.random.default_rng(3)
    page_of = rng.permutation(keys) // (keys // pages)  # scattered
    counts, hits = [], []
    for _ in range(max(12, 30_000 // rows)):
        ranks = drawn(rng, rows, keys, exponent)
        counts.append(len(np.unique(page_of[ranks[ranks >= cached]])))
        hits.append(float((ranks < cached).mean()))
    predicted = drained_batch(rows, keys, exponent, cached, pages, pending=rows)
    assert predicted.hit_ratio == pytest.approx(np.mean(hits), abs=0.03)
    assert predicted.loads == pytest.approx(np.mean(counts), rel=0.06, abs=2)


def test_a_large_master_is_counted_in_few_steps() -> None:
    predicted = drained_batch(200_000, 10**9, 1.0, 10**5, 2 * 10**6, 10**6)
    share = (np.log(10**5) + 0.5772) / (np.log(10**9) + 0.5772)  # harmonic numbers
    assert predicted.hit_ratio == pytest.approx(share, rel=1e-3)
    assert 0.8 * 200_000 * (1 - share) < predicted.loads < 200_000 * (1 - share)


@pytest.mark.parametrize(("pending", "exponent"), [(500, 0.0), (2_000, 0.0), (2_000, 0.8)])
def test_a_batch_larger_than_pending_takes_more(pending: int, exponent: float) -> None:
    """Against a join that runs: HYBRIDJOIN, so that nothing is cached."""
    keys, page_rows, rows = 20_000, 100, 20_000
    rng = np.random.default_rng(5)
    master = ss.master(pa.table({"id": np.arange(keys)}), key="id", page_rows=page_rows)
    scattered = rng.permutation(keys)
    with ss.SemiStreamJoin(
        master, how="left_semi", memory="8MiB", algorithm="hybridjoin", pending_rows=pending
    ) as join:
        batch = pa.record_batch({"id": scattered[drawn(rng, rows, keys, exponent)]})
        for _ in [*join.push(batch), *join.drain()]:
            pass
        loads = join.stats.loads
    predicted = drained_batch(rows, keys, exponent, 0, keys // page_rows, pending)
    assert predicted.loads == pytest.approx(loads, rel=0.25)


def test_nothing_to_load() -> None:
    assert drained_batch(100, 0, 1.0, 0, 0, 10).loads == 0
    assert drained_batch(0, 100, 1.0, 0, 10, 10).loads == 0
    assert drained_batch(1000, 100, 1.0, 100, 10, 10).hit_ratio == pytest.approx(1.0)
    assert drained_batch(1000, 100, 1.0, 100, 10, 10).loads == pytest.approx(0.0, abs=1e-6)
    assert drained_batch(5, 100, 0.0, 0, 1, 10).loads == pytest.approx(1.0, abs=0.02)
