"""Claims of P-CACHEJOIN and OP-CACHEJOIN (S5)."""

from __future__ import annotations

from collections.abc import Callable

from semistream.experiments.claims import trials
from semistream.experiments.claims.claim import Answer, Claim, Looked, Trial, Verdict
from semistream.experiments.claims.evidence import Evidence, Line

CACHE, PARALLEL, OPTIMISED = "cachejoin", "p_cachejoin", "op_cachejoin"
HALF, HALF_NEAR = 0.5, 0.1
SETTLED = 0.05
ARM = "One arm loads one partition after the other: two loads at a time take two times as long."


def _buffer(evidence: Evidence) -> Looked:
    places, told = {}, []
    for figure, where in (("s5-fig-3", "a hard disk"), ("s5-fig-3-ssd", "an SSD")):
        line = evidence.line(figure, PARALLEL)
        best = max(line, key=lambda x: line[x])
        last = [*line.values()][-1]
        near_two = line[2] >= max(line.values()) / trials.NOISE
        places[where] = near_two and last < line[2] and min(line) != best
        told.append(
            f"{trials.listed(line.values())} rows/s with {trials.listed(map(float, line))} MB on {where}"
        )
    return Looked((Trial("best at 2 MB, less beyond", places, "; ".join(told)),))


def _faster(figure: str, *, small: bool = False) -> Callable[[Evidence], Looked]:
    def look(evidence: Evidence) -> Looked:
        found = [
            trials.above(evidence, figure, PARALLEL, CACHE),
        ]
        if small:
            gain = trials.ratio(evidence.line(figure, PARALLEL), evidence.line(figure, CACHE))
            least, most = min(gain, key=float), max(gain, key=float)
            found.append(
                Trial(
                    "the gain is larger for small R",
                    {"this run": gain[least] > gain[most]},
                    f"gains {trials.listed(gain.values())}",
                )
            )
        return Looked(tuple(found))

    return look


def _optimised(evidence: Evidence) -> Looked:
    figures = ("s5-fig-6a", "s5-fig-6b", "s5-fig-6c", "s5-fig-4a", "s5-fig-4b", "s5-fig-4c")
    found = []
    for figure in figures:
        trial = trials.above(evidence, figure, OPTIMISED, PARALLEL, CACHE)
        where = "an SSD" if figure.startswith("s5-fig-6") else "a hard disk"
        axis = evidence.figure(figure)["x"]["name"]
        found.append(
            Trial(f"{trial.says} by {axis} on {where}", trial.places, f"{trial.told} (by {axis}, {where})")
        )

    def told(line: Line) -> str:
        return trials.listed(line.values())

    names = (OPTIMISED, PARALLEL, CACHE)
    answers = [
        trials.both_forms(evidence, "s5-fig-4b", name, f"{name}: rows/s by memory, hard disk", told)
        for name in names
    ]
    return Looked(tuple(found), tuple(answers))


def _half(evidence: Evidence) -> Looked:
    places, told = {}, []
    for figure, where in (("s5-io", "one arm"), ("s5-io-ssd", "a device that serves two reads at once")):
        parts = list(evidence.line(figure, OPTIMISED).values())
        places[where] = all(abs(part - HALF) <= HALF_NEAR for part in parts)
        told.append(f"{trials.listed(parts)} of CACHEJOIN's on {where}")
    answer = Answer(
        "I/O of a load in units of CACHEJOIN's",
        "0.5",
        "1 on one arm, 0.5 with two reads at once",
        "; ".join(told),
    )
    return Looked((Trial("half the I/O a load", places, "; ".join(told)),), (answer,))


def _iterations(evidence: Evidence) -> Looked:
    places, told = {}, []
    for name in (CACHE, PARALLEL, OPTIMISED):
        line = evidence.line("s5-iterations", name)
        runs = [*line.values()]
        places[name] = abs(runs[0] / runs[-1] - 1) <= SETTLED
        told.append(
            f"{name}: {trials.listed(runs)} rows a load in runs of {trials.listed(map(float, line))} "
            f"capacities"
        )
    return Looked((Trial("a thousand loads measure what long runs do", places, "; ".join(told)),))


CLAIMS = (
    Claim(
        "S5-1",
        "The intermediate buffer is best with 2 MB, and larger ones are slower.",
        ("s5-fig-3", "s5-fig-3-ssd"),
        _buffer,
        {
            Verdict.ONLY_UNDER: "A larger buffer takes memory from the rows that can wait, and gains "
            "nothing once it "
            "holds what comes in during a load; where loads cost little the differences are below a percent."
        },
        compares=False,
    ),
    Claim(
        "S5-2",
        "P-CACHEJOIN is faster than CACHEJOIN for every size of R, most of all for small R.",
        ("s5-fig-4a",),
        _faster("s5-fig-4a", small=True),
    ),
    Claim(
        "S5-3",
        "P-CACHEJOIN is faster than CACHEJOIN for every memory.",
        ("s5-fig-4b", "s5-fig-6b-real"),
        _faster("s5-fig-4b"),
    ),
    Claim(
        "S5-4",
        "P-CACHEJOIN is faster than CACHEJOIN for every skew.",
        ("s5-fig-4c",),
        _faster("s5-fig-4c"),
        {
            Verdict.ONLY_UNDER: "A second phase saves the time of the cache's work: with less skew nearly "
            "all time is "
            "that of loads, and the intermediate buffer takes memory from the rows that can wait."
        },
    ),
    Claim(
        "S5-5",
        "OP-CACHEJOIN is faster than P-CACHEJOIN, and that than CACHEJOIN, everywhere and by far.",
        ("s5-fig-6a", "s5-fig-6b", "s5-fig-6c", "s5-fig-6b-real"),
        _optimised,
        {
            Verdict.ONLY_UNDER: "Two loads at a time need a device that serves two: with one arm the second "
            "buffer only "
            "takes memory, and the youngest row's partition has had less time to collect others."
        },
        doubted=True,
    ),
    Claim(
        "S5-6",
        "With two loads at a time the I/O of an iteration is halved.",
        ("s5-io", "s5-io-ssd"),
        _half,
        {Verdict.ONLY_UNDER: ARM},
        doubted=True,
    ),
    Claim(
        "S5-7",
        "A thousand iterations and more are measured.",
        ("s5-iterations",),
        _iterations,
        compares=False,
    ),
)
