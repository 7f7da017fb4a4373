"""The table of claims is whole, and verdicts follow from trials."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from semistream.experiments import catalogue
from semistream.experiments.claims import orderings, trials
from semistream.experiments.claims.catalogue import CLAIMS
from semistream.experiments.claims.claim import Claim, Looked, Trial, Verdict, verdict_of
from semistream.experiments.claims.evidence import Evidence, Line, NotMeasuredError
from semistream.experiments.figure import QUICK
from semistream.experiments.results import Results

EVERY = [claim for claims in CLAIMS.values() for claim in claims]
DOUBTED = {
    *("S1-5", "S1-6", "S2-2", "S2-3", "S2-4", "S2-8", "S2-11", "S3-6", "S3-11", "S3-12"),
    *("S4-3", "S4-5", "S4-6", "S4-8", "S5-5", "S5-6"),
}
GOOD = Trial("it is so", {"50 MB": True, "100 MB": True}, "both")
HALF = Trial("it is so", {"50 MB": True, "100 MB": False}, "one")
BAD = Trial("it is so", {"50 MB": False, "100 MB": False}, "none")


def claim(*looked: Trial, **changed: object) -> Claim:
    return Claim("S0-1", "It is so.", (), lambda evidence: Looked(looked), **changed)  # type: ignore[arg-type]


@pytest.fixture
def nothing(tmp_path: Path) -> Evidence:
    return Evidence(Results(tmp_path), QUICK)


def test_every_claim_that_a_figure_shows_has_a_verdict() -> None:
    shown = {name for figure in catalogue.FIGURES for name in figure.claims}
    assert {one.id for one in EVERY if not one.id.startswith("O-")} == shown
    assert len({one.id for one in EVERY}) == len(EVERY)
    for paper, claims in CLAIMS.items():
        assert all(one.id.startswith("O-" if paper == "order" else paper) for one in claims)


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.id)
def test_claims_link_to_figures_that_show_them(one: Claim) -> None:
    figures = catalogue.figures(one.figures)
    assert len(figures) == len(one.figures) > 0
    if not one.id.startswith("O-"):
        assert all(one.id in figure.claims for figure in figures)


def test_what_is_doubted_gets_both_answers() -> None:
    assert {one.id for one in EVERY if one.doubted} == DOUBTED


def test_the_order_of_all_names_every_algorithm_that_a_paper_orders() -> None:
    ordered = {name for less, _, more in orderings.ORDERS for name in (less, more)}
    assert ordered == {series.algorithm for series in catalogue.figures(["s2-fig-3a"])[0].series} - {
        "partitioned_join",
        "ssij",
    }


@pytest.mark.parametrize(
    ("looked", "verdict"),
    [
        ((GOOD,), Verdict.REPRODUCED),
        ((GOOD, GOOD), Verdict.REPRODUCED),
        ((HALF,), Verdict.ONLY_UNDER),
        ((GOOD, BAD), Verdict.ONLY_UNDER),
        ((BAD,), Verdict.NOT),
        ((BAD, GOOD), Verdict.NOT),
    ],
)
def test_a_verdict_follows_from_its_trials(
    looked: tuple[Trial, ...], verdict: Verdict, nothing: Evidence
) -> None:
    assert verdict_of(looked) is verdict
    assert claim(*looked).judge(nothing).verdict is verdict


def test_a_finding_says_where_it_holds_and_why(nothing: Evidence) -> None:
    found = claim(HALF, why={Verdict.ONLY_UNDER: "Memory is short."}).judge(nothing)
    assert found.under == ("it is so: with 50 MB, not with 100 MB",)
    assert (found.measured, found.reason) == ("one", "Memory is short.")
    assert claim(BAD, why={Verdict.ONLY_UNDER: "Memory."}).judge(nothing).reason == "Not found: it is so."


def test_what_was_not_measured_has_no_verdict(nothing: Evidence) -> None:
    found = next(one for one in EVERY if one.id == "S1-7").judge(nothing)
    assert found.verdict is Verdict.UNKNOWN
    assert "s1-fig-6a has no value of tuned_x_hybridjoin at 0.5: it hasn't run" in found.reason
    with pytest.raises(NotMeasuredError, match="shows no meshjoin"):
        nothing.line("s2-fig-4", "meshjoin")


class Given(Evidence):
    """Lines that are given."""

    def __init__(self, lines: Mapping[str, Line]) -> None:
        self._lines = lines

    def figure(self, name: str) -> dict[str, Any]:
        return {"x": {"name": "memory", "unit": "MB"}, "metric": {"name": "cost"}}

    def line(self, figure: str, label: str) -> Line:
        return self._lines[label]


TWO = Given({"fast": {50: 3.0, 100: 4.0}, "slow": {50: 1.0, 100: 5.0}, "same": {50: 0.95, 100: 5.2}})


def test_who_is_above_whom() -> None:
    trial = trials.above(TWO, "f", "fast", "slow")
    assert trial.places == {"memory 50 MB": True, "memory 100 MB": False}
    assert trial.told == "fast 0.8 to 3 × slow"
    assert trials.above(TWO, "f", "slow", "fast", lower=True).places == trial.places
    assert trials.above(TWO, "f", "fast", "slow", times=3.5).fails
    assert trials.above(TWO, "f", "fast", "slow", where=lambda x: x == 50).holds
    assert trials.not_below(TWO, "f", "same", "slow").holds
    assert not trials.not_below(TWO, "f", "fast", "slow").holds


def test_what_grows_and_what_does_not() -> None:
    assert trials.trend("", {1: 1.0, 2: 2.0, 3: 3.0}).holds
    assert not trials.trend("", {1: 1.0, 2: 3.0, 3: 2.0}).holds
    assert not trials.trend("", {1: 1.0, 2: 1.01, 3: 1.02}).holds, "that is noise"
    assert trials.trend("", {1: 3.0, 2: 2.0}, falls=True).holds
    assert trials.widens("", {1: 1.0, 2: 3.0, 3: 2.0}).holds
    assert not trials.widens("", {1: 1.0, 2: 0.5, 3: 2.0}).holds
    assert trials.flat("", {1: 1.0, 2: 1.05}).holds
    assert not trials.flat("", {1: 1.0, 2: 1.2}).holds


def test_where_the_best_is() -> None:
    assert trials.inside("", {1: 1.0, 2: 2.0, 3: 1.0}).holds
    assert not trials.inside("", {1: 1.0, 2: 2.0, 3: 1.99}).holds
    assert not trials.inside("", {1: 1.0, 2: 2.0, 3: 3.0}).holds


def test_how_far_a_formula_is_off() -> None:
    given = Given(
        {
            "a": {50: 10.0, 100: 20.0},
            "a, paper model": {50: 15.0, 100: 20.0},
            "a, corrected model": {50: 10.3, 100: 20.2},
        }
    )
    trial, answer = trials.agreement(given, "f", "a", 0.1)
    assert list(trial.places.values()) == [False, True]
    assert "off by up to 50 %, the corrected one by up to 3 %" in trial.told
    assert (answer.paper, answer.corrected, answer.measured) == ("15, 20", "10.3, 20.2", "10, 20")
