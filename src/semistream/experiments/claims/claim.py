"""A claim of a paper, and how a verdict on it is found: trials at many places, counted.

    claim -> trials over the evidence -> verdict, what was measured, the reason

A trial is something that the claim says, looked at in one or more places (values of an axis, disks). All of
it everywhere: reproduced. Its first trial nowhere: not reproduced. Anything between: only where it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from semistream.experiments.claims.evidence import Evidence, NotMeasuredError

VALUE = re.compile(r"(?P<name>[A-Za-z ]+ )(?P<value>[0-9.e+-]+)(?P<unit>.*)")


class Verdict(StrEnum):
    REPRODUCED = "reproduced"
    ONLY_UNDER = "reproduced only under"
    NOT = "not reproduced"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Trial:
    """One thing that a claim says.

    places: where it was looked at, and whether it held there.
    told: what was measured, in a few words.
    """

    says: str
    places: Mapping[str, bool]
    told: str

    @property
    def holds(self) -> bool:
        return all(self.places.values())

    @property
    def fails(self) -> bool:
        return not any(self.places.values())

    def where(self) -> str:
        """
        >>> Trial("A is faster", {"memory 50 MB": True, "memory 100 MB": False}, "").where()
        'A is faster: with memory 50 MB, not with memory 100 MB'
        """
        held = [place for place, good in self.places.items() if good]
        failed = [place for place, good in self.places.items() if not good]
        if not failed:
            return f"{self.says}: everywhere"
        if not held:
            return f"{self.says}: nowhere"
        return f"{self.says}: with {_together(held)}, not with {_together(failed)}"


def _together(places: Sequence[str]) -> str:
    """Values of one axis with their name and unit once.

    >>> _together(["memory 50 MB", "memory 100 MB"]), _together(["an SSD", "a hard disk"])
    ('memory 50, 100 MB', 'an SSD, a hard disk')
    """
    axes = [VALUE.fullmatch(place) for place in places]
    first = axes[0]
    if first is None or any(one is None or one["name"] != first["name"] for one in axes):
        return ", ".join(places)
    values = ", ".join(one["value"] for one in axes if one is not None)
    return first["name"] + values + first["unit"]


@dataclass(frozen=True)
class Answer:
    """A number that a claim is about: by the paper's formula, by the corrected one, and measured."""

    about: str
    paper: str
    corrected: str
    measured: str


@dataclass(frozen=True)
class Looked:
    """What a judge found: its trials, and where the claim is doubted both formulas' answers."""

    trials: tuple[Trial, ...]
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim."""

    verdict: Verdict
    measured: str
    reason: str
    under: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One claim.

    says: what the paper says, in short.
    figures: whose data it is judged by.
    why: the reason in a sentence, by verdict; what was worked out when the verdict was first seen.
    doubted: whether a formula behind it is in doubt, so that both forms' answers have to be shown.
    compares: whether it says that algorithms differ; with their labels shuffled it can't hold.
    """

    id: str
    says: str
    figures: tuple[str, ...]
    look: Callable[[Evidence], Looked]
    why: Mapping[Verdict, str] = field(default_factory=dict)
    doubted: bool = False
    compares: bool = True

    def judge(self, evidence: Evidence) -> Finding:
        try:
            looked = self.look(evidence)
        except NotMeasuredError as error:
            return Finding(Verdict.UNKNOWN, "", str(error))
        verdict = verdict_of(looked.trials)
        under = tuple(one.where() for one in looked.trials) if verdict is Verdict.ONLY_UNDER else ()
        measured = "; ".join(one.told for one in looked.trials if one.told)
        return Finding(verdict, measured, self._reason(verdict, looked.trials), under, looked.answers)

    def _reason(self, verdict: Verdict, trials: Sequence[Trial]) -> str:
        if verdict in self.why:
            return self.why[verdict]
        if verdict is Verdict.REPRODUCED:
            return "What the paper says held wherever it was looked at."
        if verdict is Verdict.ONLY_UNDER:
            return "Runs of this size do not show all of it."
        return "Not found: " + "; ".join(one.says for one in trials if one.fails) + "."


def verdict_of(trials: Sequence[Trial]) -> Verdict:
    """
    >>> half = Trial("", {"50 MB": True, "100 MB": False}, "")
    >>> str(verdict_of([half]))
    'reproduced only under'
    """
    if all(one.holds for one in trials):
        return Verdict.REPRODUCED
    return Verdict.NOT if trials[0].fails else Verdict.ONLY_UNDER
