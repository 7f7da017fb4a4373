"""A cell's id says whether a result is still good."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from semistream.errors import ArgumentError
from semistream.experiments.cells import Cell
from tests.experiments.tiny import cell


def test_ids_stay_what_they_are() -> None:
    """Results of last week are found again: who changes this makes all of them run anew (`FORMAT`)."""
    assert cell().id == "e78e0c294cd8849c"


def test_every_field_but_the_scale_is_in_the_id() -> None:
    other = {
        "algorithm": "meshjoin",
        "master_rows": 7,
        "exponent": 0.5,
        "order": "scattered",
        "memory": 7,
        "partition_rows": 7,
        "settings": (("position", 0.5),),
        "queue_node_bytes": 4,
        "workload": "tpch",
        "arrival_rate": 7.0,
        "disk": "real",
        "seed": 7,
        "repeats": 7,
    }
    assert {item.name for item in fields(Cell)} == {*other, "scale"}
    ids = {replace(cell(), **{name: value}).id for name, value in other.items()}  # type: ignore[arg-type]
    assert len(ids | {cell().id}) == len(other) + 1
    assert replace(cell(), scale=0.5).id == cell().id


def test_a_cell_survives_json() -> None:
    made = cell(settings=(("pinned_rows", 100), ("profile", True)), arrival_rate=125.0)
    again = Cell.from_json(json.loads(json.dumps(made.as_json())))
    assert again == made
    assert again.id == made.id


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"algorithm": "join"}, "algorithm='join'"),
        ({"order": "key"}, "order='key'"),
        ({"disk": "tape"}, "tape"),
    ],
)
def test_what_is_unknown_is_refused(changed: dict[str, str], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        cell(**changed)
