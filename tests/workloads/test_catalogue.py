"""Every workload has a name, a sentence, and options that are checked."""

from __future__ import annotations

from typing import Any

import pytest

from semistream.errors import ArgumentError
from semistream.workloads import catalogue

SMALL: dict[str, dict[str, Any]] = {
    "zipf": {"master_rows": 50},
    "tpch": {"scale": 0.001},
    "tpch-zipf": {"scale": 0.001},
    "weather-reports": {"scale": 0.0001},
}


@pytest.mark.parametrize("name", catalogue.names())
def test_every_workload_joins_the_columns_it_says(name: str) -> None:
    made = catalogue.workload(name, stream_rows=20, **SMALL.get(name, {}))
    stream = made.stream.table()
    assert stream.num_rows == 20
    assert stream.schema == made.stream.schema
    for column, key in made.on.items():
        assert made.stream.schema.field(column).type == made.master.schema.field(key).type
    assert made.key == tuple(made.on.values())
    assert next(made.master.batches(5)).schema == made.master.schema
    assert catalogue.about(name).endswith(".")
    assert "stream_rows" in catalogue.options(name)


def test_what_nobody_knows_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no workload 'sales': give one of zipf, tpch,"):
        catalogue.workload("sales")
    with pytest.raises(ArgumentError, match="tpch has no nulls, law: give scale, stream_rows"):
        catalogue.workload("tpch", nulls=0.1, law="exact")
