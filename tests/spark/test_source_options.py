"""Options of `semistream-zipf`: each mistake is an error that says what was expected."""

from __future__ import annotations

import datetime as dt

import pytest

from semistream.errors import ArgumentError
from semistream.spark.source.options import SourceOptions
from semistream.workloads.arrivals import OnOff

KEYS = {"keys": "100"}


def test_what_is_given_is_what_is_meant() -> None:
    options = SourceOptions.parsed(
        {
            "keys": "2000",
            "exponent": "0.5",
            "law": "continuous",
            "order": "frequency",
            "drift_every": "50",
            "drift_share": "0.25",
            "unmatched": "0.1",
            "nulls": "0.05",
            "rows": "10",
            "rows_per_second": "7.5",
            "arrivals": "Bursty",
            "rows_per_batch": "3",
            "seed": "-4",
            "partitions": "3",
            "start": "2025-06-01T12:00:00+02:00",
        }
    )
    stream = options.stream()
    assert (stream.keys.keys, stream.keys.law, stream.keys.order) == (2000, "continuous", "frequency")
    assert (stream.keys.drift_every, stream.keys.unmatched, stream.keys.nulls) == (50, 0.1, 0.05)
    assert stream.arrivals == OnOff(-4)
    assert stream.rows_per_second == 7.5
    assert stream.start == dt.datetime(2025, 6, 1, 10, tzinfo=dt.UTC)
    assert (options.rows, options.rows_per_batch, options.partitions) == (10, 3, 3)


def test_arrivals_have_the_papers_form_too() -> None:
    assert SourceOptions.parsed({**KEYS, "arrivals": "papers"}).stream().arrivals == OnOff(0, "uniform")


def test_a_start_without_a_zone_is_utc() -> None:
    assert SourceOptions.parsed({**KEYS, "start": "2025-01-01"}).start == dt.datetime(
        2025, 1, 1, tzinfo=dt.UTC
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("keys", "0", "keys=0"),
        ("keys", "many", "whole number"),
        ("exponent", "-1", "exponent=-1"),
        ("exponent", "nan", "exponent=nan"),
        ("law", "normal", "exact or continuous"),
        ("order", "random", "scattered or frequency"),
        ("drift_every", "0", "drift_every=0"),
        ("drift_share", "2", "drift_share=2"),
        ("unmatched", "-0.1", "unmatched=-0.1"),
        ("nulls", "a tenth", "no number"),
        ("rows", "-1", "rows=-1"),
        ("rows_per_second", "0", "rows_per_second=0"),
        ("arrivals", "poisson", "constant, bursty or papers"),
        ("rows_per_batch", "0", "rows_per_batch=0"),
        ("seed", "1.5", "seed='1.5'"),
        ("partitions", "0", "partitions=0"),
        ("start", "yesterday", "2024-01-01T00:00:00"),
        ("speed", "5", "'speed'.*rows_per_second"),
    ],
)
def test_a_bad_option_is_an_error_that_says_so(name: str, value: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        SourceOptions.parsed({**KEYS, name: value})


def test_keys_must_be_given() -> None:
    with pytest.raises(ArgumentError, match="'keys'"):
        SourceOptions.parsed({})


def test_limits_may_change_between_two_starts_and_rows_may_not() -> None:
    plain = SourceOptions.parsed(KEYS).fingerprint()
    for name, value in {"rows": "5", "rows_per_batch": "2", "partitions": "7", "seed": "0"}.items():
        assert SourceOptions.parsed({**KEYS, name: value}).fingerprint() == plain
    for name, value in {"seed": "1", "rows_per_second": "9", "nulls": "0.1", "start": "2020-01-01"}.items():
        assert SourceOptions.parsed({**KEYS, name: value}).fingerprint() != plain
