"""Verdicts on real runs, tiny ones: they hold for other streams and another R, and fail where labels lie."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from semistream.algorithms import names
from semistream.experiments import catalogue, report, runner
from semistream.experiments.claims.catalogue import CLAIMS
from semistream.experiments.claims.claim import Verdict
from semistream.experiments.claims.evidence import Evidence
from semistream.experiments.figure import Figure, Scale
from semistream.experiments.results import Results

pytestmark = pytest.mark.xdist_group("verdicts")

SCALE = Scale("quick", 0.004, 1, partition_share=0.2)
MEMORY_MB = (50, 250)
SWEEPS = ("s1-fig-6b", "s2-fig-3a", "s3-fig-7d")
# Of the orders not HYBRIDJOIN-PQ's lead over HYBRIDJOIN-L, which are level in frequency order, and not
# P-CACHEJOIN's over CACHEJOIN: it saves the processor's time, and partitions of 170 rows leave the processor
# little to do.
JUDGED = ("S1-8", "S2-1", "S3-10", *(f"O-{number}" for number in range(1, 13) if number not in (5, 10)))
SHUFFLES = 12
EXPECTED = {
    **dict.fromkeys(JUDGED, Verdict.REPRODUCED),
    "O-8": Verdict.NOT,  # the best pinned partitions against a cache of a quarter of memory
    "O-11": Verdict.NOT,  # one arm: two loads at a time take twice as long
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


def test_their_report_is_built(ran: Ran, figures: list[Figure], honest: Verdicts) -> None:
    """Where it can be looked at after the tests."""
    path = Path(__file__).parents[3] / "build" / "papers.html"
    found = report.write(path, figures, ran(SCALE))
    told = {claim.id: finding.verdict for judged in found.values() for claim, finding in judged}
    assert {name: told[name] for name in JUDGED} == honest
    assert all(f'id="{figure.id}"' in path.read_text() for figure in figures)


@pytest.mark.parametrize(
    "scale",
    [replace(SCALE, seed=7), replace(SCALE, master_millions=3)],
    ids=["another stream", "3 million rows"],
)
def test_verdicts_hold(ran: Ran, honest: Verdicts, scale: Scale) -> None:
    assert verdicts(ran(scale)) == honest


def lying(figures: list[Figure], evidence: Evidence, folder: Path, secret: Mapping[str, str]) -> Evidence:
    """The same results, each under the name of another algorithm."""
    results = Results(folder)
    for figure in figures:
        truly = tuple(replace(series, algorithm=secret[series.algorithm]) for series in figure.series)
        pairs = zip(figure.points(SCALE), replace(figure, series=truly).points(SCALE), strict=True)
        for point, hidden in pairs:
            result = evidence.results.load(hidden.cell)
            assert result is not None
            results.save(replace(result, cell=point.cell))
    return Evidence(results, SCALE)


def test_with_the_labels_shuffled_in_secret_they_fail(
    figures: list[Figure], ran: Ran, honest: Verdicts, tmp_path: Path
) -> None:
    """Some order of two comes about by chance; never most of them, and none by every chance."""
    evidence, draw = ran(SCALE), random.Random(1)
    good = {name for name, verdict in honest.items() if verdict is Verdict.REPRODUCED}
    left: list[set[str]] = []
    for number in range(SHUFFLES):
        secret = dict(zip(names(), draw.sample(names(), len(names())), strict=True))
        found = verdicts(lying(figures, evidence, tmp_path / str(number), secret))
        left.append({name for name in good if found[name] is Verdict.REPRODUCED})
    assert all(len(some) < len(good) for some in left)
    assert sum(map(len, left)) < 0.6 * SHUFFLES * len(good)
    assert set.intersection(*left) == set()


def test_with_the_labels_in_reverse_nearly_all_of_them_fail(
    figures: list[Figure], ran: Ran, honest: Verdicts, tmp_path: Path
) -> None:
    """All but those of two that the papers hold for nearly equal."""
    evidence = ran(SCALE)
    ranked = sorted(names(), key=lambda name: evidence.line("s2-fig-3a", name)[MEMORY_MB[0]])
    secret = dict(zip(ranked, reversed(ranked), strict=True))
    found = verdicts(lying(figures, evidence, tmp_path, secret))
    good = {name for name, verdict in honest.items() if verdict is Verdict.REPRODUCED}
    assert {name for name in good if found[name] is Verdict.REPRODUCED} <= {"O-2", "O-9"}
