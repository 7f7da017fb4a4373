"""Files = algorithms = cost models = documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semistream import costs
from semistream.algorithms import names
from semistream.costs.accounting import Account
from semistream.errors import ArgumentError

ROOT = Path(__file__).parents[2]


def test_each_algorithm_has_its_cost_model_and_its_documentation() -> None:
    files = {file.stem for file in (ROOT / "src" / "semistream" / "costs").glob("*.py")}
    files -= costs.SHARED | {"__init__"}
    headings = re.findall(r"^### What (\w+) costs$", (ROOT / "docs" / "algorithms.md").read_text(), re.M)
    assert files == set(costs.names()) == set(names()) == set(headings)


@pytest.mark.parametrize("name", costs.names())
def test_a_model_says_where_its_formulas_come_from(name: str) -> None:
    found = costs.model(name)
    assert isinstance(found.ACCOUNT, Account)
    text = found.__doc__ or ""
    assert "memory" in text
    assert "Corrected" in text
    assert re.search(r"\bS[1-5]\b|its abstract", text)
    assert found.paper.__doc__
    assert found.corrected.__doc__
    assert text.strip() in (ROOT / "docs" / "algorithms.md").read_text()


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="no cost model of 'renewal' is known; there are cachejoin, "):
        costs.model("renewal")
