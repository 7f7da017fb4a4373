"""The table of figures is complete: every claim that measures something has a row."""

from __future__ import annotations

import pytest

from semistream.algorithms import names
from semistream.errors import ArgumentError
from semistream.experiments import catalogue
from semistream.experiments.accounting import capacities
from semistream.experiments.axes import ALL
from semistream.experiments.figure import FULL, QUICK, Figure

# The papers' claims that something can be measured for; the others are architecture, parameters or protocol.
CLAIMS = {
    *(f"S1-{i}" for i in (3, 4, 5, 6, 7, 8, 9)),
    *(f"S2-{i}" for i in (1, 2, 3, 4, 5, 6, 8, 9, 10, 11)),
    *(f"S3-{i}" for i in range(1, 15)),
    *(f"S4-{i}" for i in range(1, 9)),
    *(f"S5-{i}" for i in range(1, 8)),
}
SWEEPS = {
    "S1": {"memory_mb", "master_millions", "partition_rows", "arrival_rate"},
    "S2": {"memory_mb", "master_millions", "exponent"},
    "S3": {"memory_mb", "master_millions", "exponent", "arrival_rate", "partition_rows"},
    "S4": {"memory_mb", "master_millions", "exponent", "position"},
    "S5": {"memory_mb", "master_millions", "exponent", "intermediate_mb"},
}


def of(paper: str) -> list[Figure]:
    return [figure for figure in catalogue.FIGURES if figure.paper == paper]


def test_every_measured_claim_has_a_figure() -> None:
    assert {claim for figure in catalogue.FIGURES for claim in figure.claims} == CLAIMS


def test_claims_are_shown_by_figures_of_their_own_paper() -> None:
    for figure in catalogue.FIGURES:
        assert {claim.split("-")[0] for claim in figure.claims} <= {figure.paper}
        assert figure.id.startswith(figure.paper.lower())


def test_ids_are_unique() -> None:
    ids = [figure.id for figure in catalogue.FIGURES]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("paper", SWEEPS)
def test_all_algorithms_are_in_every_sweep_of_a_paper(paper: str) -> None:
    assert len(ALL) == len(names()) == 16
    with_all = {
        figure.x.field for figure in of(paper) if {one.algorithm for one in figure.series} == {*names()}
    }
    assert with_all >= SWEEPS[paper]


def test_every_cell_has_room_to_work_in() -> None:
    full = [cell for cell in catalogue.cells(catalogue.FIGURES, FULL) if cell.algorithm == "op_cachejoin"]
    for cell in [*catalogue.cells(catalogue.FIGURES, QUICK), *full]:
        assert capacities(cell).pending_rows >= 1, cell


def test_labels_are_unique_in_a_figure() -> None:
    for figure in catalogue.FIGURES:
        labels = [series.label for series in figure.series]
        assert len(set(labels)) == len(labels), figure.id


def test_a_quick_run_is_small() -> None:
    """A twentieth, one repeat, five values an axis, and a figure of the real disk for each paper."""
    for figure in catalogue.FIGURES:
        for axis in (figure.x, figure.second):
            most = 7 if axis is not None and axis.field == "measured" else 5
            assert axis is None or len(axis.at(QUICK)) <= most, figure.id
    cells = list(catalogue.cells(catalogue.FIGURES, QUICK))
    assert {cell.repeats for cell in cells} == {1}
    assert {cell.master_rows for cell in cells if cell.workload == "zipf"} == {
        25_000, 50_000, 100_000, 200_000, 400_000
    }  # fmt: skip
    for paper in SWEEPS:
        real = [one for one in of(paper) if any(p.cell.disk == "real" for p in one.points(QUICK))]
        assert len(real) == 1


def test_papers_share_cells() -> None:
    ids = [cell.id for cell in catalogue.cells(catalogue.FIGURES, QUICK)]
    assert len(set(ids)) < len(ids) / 2


def test_figures_by_name() -> None:
    assert catalogue.figures() == list(catalogue.FIGURES)
    assert [figure.id for figure in catalogue.figures(["S3-Fig-6", "s3-eq-2"])] == ["s3-fig-6", "s3-eq-2"]
    assert catalogue.figures(["s5"]) == of("S5")
    with pytest.raises(ArgumentError, match=r"no figure 's9': give s1 to s5 .* --list"):
        catalogue.figures(["s9"])
