"""Every figure there is, by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from semistream.errors import ArgumentError
from semistream.experiments import futures, s1, s2, s3, s4, s5
from semistream.experiments.cells import Cell
from semistream.experiments.figure import Figure, Scale

FIGURES: tuple[Figure, ...] = (
    *s1.FIGURES,
    *s2.FIGURES,
    *s3.FIGURES,
    *s4.FIGURES,
    *s5.FIGURES,
    *futures.FIGURES,
)


def figures(ids: Iterable[str] = ()) -> list[Figure]:
    """These figures, in the papers' order; all of them where none is named. A paper's name, such as s3,
    stands for all of its figures."""
    wanted = [name.lower() for name in ids]
    unknown = [name for name in wanted if not any(name in (one.id, one.paper.lower()) for one in FIGURES)]
    if unknown:
        raise ArgumentError(
            f"there is no figure {', '.join(map(repr, unknown))}: give s1 to s5 for all of a paper, or what "
            "`semistream figures --list` shows, such as s3-fig-6"
        )
    return [one for one in FIGURES if not wanted or one.id in wanted or one.paper.lower() in wanted]


def cells(chosen: Iterable[Figure], scale: Scale) -> Iterator[Cell]:
    """What has to run for these figures; a cell that several need comes as often."""
    for figure in chosen:
        for point in figure.points(scale):
            yield point.cell
