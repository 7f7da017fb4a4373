"""Tuned X-HYBRIDJOIN's claims (S1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from semistream.experiments.claims import trials
from semistream.experiments.claims.claim import Claim, Looked, Trial, Verdict
from semistream.experiments.claims.evidence import Evidence, Line, Place

OTHERS = ("x_hybridjoin", "hybridjoin", "r_meshjoin", "meshjoin")
TUNED = "tuned_x_hybridjoin"
GROUPS = 8
SEEKS = (
    "Where a seek takes as long as reading a megabyte, the larger the loads the better, up to sizes beyond "
    "the "
    "papers' disk buffers and beyond this grid."
)
FORMULA_OFF = (
    "The printed formula takes a binomial's variance for the matches that are to be expected, and all "
    "partitions "
    "for loaded alike; a renewal model of the queue fits."
)


def grid(figure: str) -> Callable[[Evidence], Looked]:
    """A service rate over both disk buffers has its best inside, and the two parts differ there."""

    def look(evidence: Evidence) -> Looked:
        lines = evidence.lines(figure, TUNED)
        best = max(((x, y) for y in lines for x in lines[y]), key=lambda xy: lines[xy[1]][xy[0]])
        swappable, kept = best
        by_kept = {y: max(line.values()) for y, line in lines.items()}
        grows = trials.inside(
            "a best non-swappable part, larger than the least and smaller than the most", by_kept
        )
        at_best = trials.inside("a best swappable part between the least and the most", lines[kept])
        differ = Trial(
            "the two parts differ", {"the best": swappable != kept}, f"best: {swappable:g} and {kept:g} rows"
        )
        return Looked((at_best, grows, differ))

    return look


def profile(figure: str, label: str, says: str) -> Callable[[Evidence], Looked]:
    """A value falls along the partitions, in groups of them."""

    def look(evidence: Evidence) -> Looked:
        values = np.array(list(evidence.line(figure, label).values()))
        edges = np.unique(np.geomspace(1, len(values), GROUPS + 1).astype(int))
        edges[0] = 0
        means: Line = {float(i): float(part.mean()) for i, part in enumerate(np.split(values, edges[1:-1]))}
        return Looked((trials.trend(says, means, falls=True),))

    return look


def tuning(*figures: str, within: tuple[float, ...]) -> Callable[[Evidence], Looked]:
    """The model tunes as measurements do."""

    def look(evidence: Evidence) -> Looked:
        found = [
            trials.agreement(evidence, figure, TUNED, part)
            for figure, part in zip(figures, within, strict=True)
        ]
        return Looked(tuple(trial for trial, _ in found), tuple(answer for _, answer in found))

    return look


def fastest(figure: str, *, grows: bool = False) -> Callable[[Evidence], Looked]:
    """Tuned X-HYBRIDJOIN answers more than each other one of its paper."""

    def look(evidence: Evidence) -> Looked:
        found = [trials.above(evidence, figure, TUNED, other) for other in OTHERS]
        if grows:
            lead = trials.gap(evidence.line(figure, TUNED), evidence.line(figure, OTHERS[0]))
            found.append(trials.widens("the lead over x_hybridjoin grows with memory", lead, unit="rows/s"))
        return Looked(tuple(found))

    return look


def _stream_buffer(evidence: Evidence) -> Looked:
    backlog: Line = evidence.line("s1-stream-buffer", TUNED)
    places: Mapping[str, bool] = {_rate(rate): value <= 1.0 for rate, value in backlog.items()}
    return Looked(
        (Trial("one buffer is enough", places, f"at most {trials.listed(backlog.values())} buffers full"),)
    )


def _rate(rate: Place) -> str:
    return f"{rate} rows/s"


CLAIMS = (
    Claim(
        "S1-3",
        "Over the sizes of both parts of the disk buffer, the service rate has one best point inside the "
        "grid; it "
        "rises fast and then falls slowly with the kept part, and the two parts differ there.",
        ("s1-fig-3",),
        grid("s1-fig-3"),
        {Verdict.NOT: SEEKS, Verdict.ONLY_UNDER: SEEKS},
        compares=False,
    ),
    Claim(
        "S1-4",
        "The further back a partition lies, the fewer rows of the stream it matches.",
        ("s1-fig-4",),
        profile("s1-fig-4", "hybridjoin", "share of the stream by groups of partitions"),
        {Verdict.REPRODUCED: "R lies in the order of its frequencies, so this is how the data was made."},
        compares=False,
    ),
    Claim(
        "S1-5",
        "Tuning the swappable part by the cost model gives what measuring gives, to 0.5 %.",
        ("s1-fig-5a",),
        tuning("s1-fig-5a", within=(0.005,)),
        {Verdict.ONLY_UNDER: FORMULA_OFF, Verdict.NOT: FORMULA_OFF},
        doubted=True,
        compares=False,
    ),
    Claim(
        "S1-6",
        "The same for the non-swappable part, to 0.6 %.",
        ("s1-fig-5b",),
        tuning("s1-fig-5b", within=(0.006,)),
        {Verdict.ONLY_UNDER: FORMULA_OFF, Verdict.NOT: FORMULA_OFF},
        doubted=True,
        compares=False,
    ),
    Claim(
        "S1-7",
        "For every R the tuned join is faster than X-HYBRIDJOIN, HYBRIDJOIN, R-MESHJOIN and MESHJOIN.",
        ("s1-fig-6a",),
        fastest("s1-fig-6a"),
        {Verdict.REPRODUCED: "More pinned rows answer more of the stream without a load."},
    ),
    Claim(
        "S1-8",
        "The same for every memory, and its lead grows with memory.",
        ("s1-fig-6b", "s1-fig-6b-real"),
        fastest("s1-fig-6b", grows=True),
        {
            Verdict.REPRODUCED: "More pinned rows answer more of the stream, and fewer rows are left for "
            "the loads."
        },
    ),
    Claim(
        "S1-9",
        "A stream buffer of 0.05 MB is enough.",
        ("s1-stream-buffer",),
        _stream_buffer,
        {Verdict.REPRODUCED: "At these rates fewer rows come during a load than the buffer holds."},
        compares=False,
    ),
)
