"""Verdicts on real runs, tiny ones: they hold for other streams and another R, and fail where labels lie."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from semistream.algorithms import names
from semistream.experiments import catalogue, runner
from semistream.experiments.claims.catalogue import CLAIMS
from semistream.experiments.claims.claim import Verdict
from semistream.experiments.claims.evidence import Evidence
from semistream.experiments.figure import Figure, Scale
from semistream.experiments.results import Results

pytestmark = pytest.mark.xdist_group("verdicts")

SCALE = Scale("quick", 0.004, 1, partition_share=0.2)
MEMORY_MB = (50, 250)
SWEEPS = ("s1-fig-6b", "s2-fig-3a", "s2-fig-7b", "s3-fig-7d", "s5-fig-4b", "s5-io", "s5-io-ssd")
JUDGED = ("S1-8", "S2-1", "S2-10", "S3-10", "S5-3", *(f"O-{number}" for number in range(1, 13)))
SHUFFLES = 12
EXPECTED = {
    **dict.fromkeys(JUDGED, Verdict.REPRODUCED),
}

Verdicts = Mapping[str, Verdict]
Ran = Callable[[Scale], Evidence]


@pytest.fixture(scope="module")
def figures() -> Iterator[list[Figure]]:
    """The sweeps over memory, with its least and its most."""
    narrowed = [
        replace(one, x=replace(one.x, quick=MEMORY_MB)) if one.id in SWEEPS else one
        for one in catalogue.FIGURES
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "FIGURES", tuple(narrowed))
        yield catalogue.figures(SWEEPS)


@pytest.fixture(scope="module")
def ran(figures: list[Figure], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    results = Results(tmp_path_factory.mktemp("results"))

    def run(scale: Scale) -> Evidence:
        assert runner.run(catalogue.cells(figures, scale), results) == []
        return Evidence(results, scale)

    return run


@pytest.fixture(scope="module")
def honest(ran: Ran) -> Verdicts:
    return verdicts(ran(SCALE))


def verdicts(evidence: Evidence) -> Verdicts:
    every = {claim.id: claim for claims in CLAIMS.values() for claim in claims}
    return {name: every[name].judge(evidence).verdict for name in JUDGED}


def test_what_the_papers_say_of_memory_is_reproduced(honest: Verdicts) -> None:
    assert honest == EXPECTED


@pytest.mark.parametrize(
    "scale",
    [replace(SCALE, seed=7), replace(SCALE, master_millions=3)],
    ids=["another stream", "3 million rows"],
)
def test_verdicts_hold(ran: Ran, honest: Verdicts, scale: Scale) -> None:
    assert verdicts(ran(scale)) == honest


Names = Mapping[str, str]
S5 = ("cachejoin", "p_cachejoin", "op_cachejoin")  # whose accounting only they run under


def lying(
    figures: list[Figure], evidence: Evidence, folder: Path, secret: Callable[[str], Names]
) -> Evidence:
    """The same results, each under the name of another algorithm."""
    results = Results(folder)
    for figure in figures:
        names = secret(figure.paper)
        truly = tuple(replace(series, algorithm=names[series.algorithm]) for series in figure.series)
        pairs = zip(figure.points(SCALE), replace(figure, series=truly).points(SCALE), strict=True)
        for point, hidden in pairs:
            result = evidence.results.load(hidden.cell)
            assert result is not None
            results.save(replace(result, cell=point.cell))
    return Evidence(results, SCALE)


def shuffled(seed: int) -> Callable[[str], Names]:
    draw = random.Random(seed)
    found = {
        len(group): dict(zip(group, draw.sample(group, len(group)), strict=True)) for group in (S5, names())
    }
    return lambda paper: found[len(S5) if paper == "S5" else len(names())]


def test_with_the_labels_shuffled_in_secret_they_fail(
    figures: list[Figure], ran: Ran, honest: Verdicts, tmp_path: Path
) -> None:
    """Some order of two comes about by chance; never all, and none by every chance."""
    evidence = ran(SCALE)
    good = {name for name, verdict in honest.items() if verdict is Verdict.REPRODUCED}
    left: list[set[str]] = []
    for seed in range(SHUFFLES):
        found = verdicts(lying(figures, evidence, tmp_path / str(seed), shuffled(seed)))
        left.append({name for name in good if found[name] is Verdict.REPRODUCED})
    assert all(len(some) < 0.75 * len(good) for some in left)
    assert set.intersection(*left) == set()


def test_with_the_labels_in_reverse_all_of_them_fail(
    figures: list[Figure], ran: Ran, honest: Verdicts, tmp_path: Path
) -> None:
    evidence = ran(SCALE)

    def reverse(paper: str) -> Names:
        figure, group = ("s5-fig-4b", S5) if paper == "S5" else ("s2-fig-3a", names())
        ranked = sorted(group, key=lambda name: evidence.line(figure, name)[MEMORY_MB[0]])
        return dict(zip(ranked, reversed(ranked), strict=True))

    found = verdicts(lying(figures, evidence, tmp_path, reverse))
    good = {name for name, verdict in honest.items() if verdict is Verdict.REPRODUCED}
    assert {name for name in good if found[name] is Verdict.REPRODUCED} == set()
