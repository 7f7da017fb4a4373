"""The kinds of things that claims say: who is faster, what grows, where the best is, what a model says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from semistream.experiments.claims.claim import Answer, Trial
from semistream.experiments.claims.evidence import Evidence, Form, Line, Place

NOISE = 1.03  # factors below it are what runs of one cell differ by
EQUAL = 1.08  # what counts as no difference, where a paper sees none
CORRECTED_WITHIN = 0.05  # what the corrected formulas are held to


def place(evidence: Evidence, figure: str, x: Place) -> str:
    """A value of an axis with its unit."""
    told = evidence.figure(figure)["x"]
    number = f"{x:g}" if isinstance(x, int | float) else x
    return f"{told['name']} {number} {told['unit']}".strip()


def above(
    evidence: Evidence,
    figure: str,
    *chain: str,
    where: Callable[[Place], bool] = lambda x: True,
    times: float = 1.0,
    lower: bool = False,
) -> Trial:
    """Each of the chain has more than the next, at every place (`lower`: less)."""
    lines = [evidence.line(figure, label) for label in chain]
    xs = [x for x in lines[0] if where(x)]
    good, ratios = {}, []
    for x in xs:
        factors = [(b[x] / a[x]) if lower else (a[x] / b[x]) for a, b in pairwise(lines)]
        good[place(evidence, figure, x)] = all(factor > times for factor in factors)
    for (first, a), (second, b) in pairwise(zip(chain, lines, strict=True)):
        ratios.append(f"{first} {_span(a[x] / b[x] for x in xs)} × {second}")
    sign = " < " if lower else " > "
    return Trial(sign.join(chain) + suffix(evidence, figure), good, ", ".join(ratios))


def not_below(
    evidence: Evidence, figure: str, more: str, less: str, where: Callable[[Place], bool] = lambda x: True
) -> Trial:
    """The first has at least what the second has, but for noise."""
    a, b = evidence.line(figure, more), evidence.line(figure, less)
    xs = [x for x in a if where(x)]
    good = {place(evidence, figure, x): a[x] * EQUAL >= b[x] for x in xs}
    return Trial(f"{more} ≥ {less}", good, f"{more} {_span(a[x] / b[x] for x in xs)} × {less}")


def suffix(evidence: Evidence, figure: str) -> str:
    """What tells a variant of a figure from the paper's own."""
    kinds = {
        "-ssd": " on an SSD",
        "-alone": " where a scan never seeks",
        "-sorted": " with R in frequency order",
    }
    return next((told for ending, told in kinds.items() if figure.endswith(ending)), "")


def trend(says: str, values: Line, *, falls: bool = False, noise: float = NOISE, unit: str = "") -> Trial:
    """Values rise (or fall) along an axis from end to end, and nowhere turn by more than noise."""
    ordered = list(values.values())
    steps = [(b / a) if not falls else (a / b) for a, b in pairwise(ordered)]
    ends = (ordered[-1] / ordered[0]) if not falls else (ordered[0] / ordered[-1])
    steady = ends > noise and all(step > 1 / noise for step in steps)
    return Trial(says, {"the whole axis": steady}, f"{says}: {listed(ordered, unit)}")


def widens(says: str, values: Line, unit: str = "") -> Trial:
    """A lead is larger at the last place than at the first, and nowhere smaller than there."""
    ordered = list(values.values())
    grown = ordered[-1] > NOISE * ordered[0] and min(ordered) >= ordered[0]
    return Trial(says, {"the whole axis": grown}, f"{says}: {listed(ordered, unit)}")


def flat(says: str, values: Line, within: float = EQUAL) -> Trial:
    found = list(values.values())
    return Trial(says, {"the whole axis": max(found) / min(found) < within}, f"{says}: {listed(found)}")


def inside(says: str, values: Line, noise: float = NOISE) -> Trial:
    """The best value is neither the first nor the last, and both ends are lower by more than noise."""
    best = max(values, key=lambda x: values[x])
    xs = list(values)
    good = best not in (xs[0], xs[-1]) and all(values[best] > noise * values[x] for x in (xs[0], xs[-1]))
    return Trial(
        says, {"this grid": good}, f"{says}: best at {best:g}" if not isinstance(best, str) else says
    )


def between(says: str, value: float, low: float, high: float, where: str = "this run") -> Trial:
    return Trial(says, {where: low <= value <= high}, f"{says}: {short(value)}")


def ratio(a: Line, b: Line) -> dict[Place, float]:
    return {x: a[x] / b[x] for x in a if x in b}


def gap(a: Line, b: Line) -> dict[Place, float]:
    return {x: a[x] - b[x] for x in a if x in b}


def deviation(predicted: Line, measured: Line) -> float:
    """The largest, as a part of what was measured."""
    return max(abs(predicted[x] / measured[x] - 1) for x in measured)


def both_forms(
    evidence: Evidence, figure: str, algorithm: str, about: str, value: Callable[[Line], str]
) -> Answer:
    """A number by the paper's model, by the corrected one, and as measured."""

    def by(form: Form) -> str:
        return value(evidence.model(figure, algorithm, form))

    return Answer(about, by("paper"), by("corrected"), value(evidence.line(figure, algorithm)))


def agreement(
    evidence: Evidence, figure: str, algorithm: str, claimed: float, corrected: float = CORRECTED_WITHIN
) -> tuple[Trial, Answer]:
    """Whether either form of the cost model says what was measured, everywhere along the axis."""
    measured = evidence.line(figure, algorithm)
    paper = evidence.line(figure, f"{algorithm}, paper model")
    ours = evidence.line(figure, f"{algorithm}, corrected model")
    off, ours_off = deviation(paper, measured), deviation(ours, measured)
    trial = Trial(
        f"{algorithm} is predicted",
        {
            f"the paper's formula, within {percent(claimed)}": off <= claimed,
            f"the corrected formula, within {percent(corrected)}": ours_off <= corrected,
        },
        f"{algorithm}: the paper's formula is off by up to {percent(off)}, the corrected one by up to "
        f"{percent(ours_off)}",
    )
    about = f"{algorithm}: {evidence.figure(figure)['metric']['name']} along the axis"
    return trial, Answer(about, *(listed(line.values()) for line in (paper, ours, measured)))


def short(value: float) -> str:
    """
    >>> [short(value) for value in (0.01234, 1.5, 262.3, 123456.0)]
    ['0.0123', '1.5', '262', '123,000']
    """
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def percent(value: float) -> str:
    """
    >>> percent(0.005), percent(0.334)
    ('0.5 %', '33 %')
    """
    return f"{100 * value:.2g} %" if value < 1 else f"{100 * value:,.0f} %"


def listed(values: Iterable[float], unit: str = "") -> str:
    """
    >>> listed([1.0, 2.5])
    '1, 2.5'
    """
    return ", ".join(short(value) for value in values) + (f" {unit}" if unit else "")


def _span(values: Iterable[float]) -> str:
    found: Sequence[float] = sorted(values)
    first, last = short(found[0]), short(found[-1])
    return first if first == last else f"{first} to {last}"
