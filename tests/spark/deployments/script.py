"""Runs parts of tests in one Spark session; `launching` starts this.

Arguments: Spark's master (or an address of Spark Connect), a folder, the parts' names, settings.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from semistream.spark.session import session
from tests.spark.deployments.launching import TOLD

_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("spark_master")
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    given = dict(text.split("=", 1) for text in options.set)
    told = {}
    with session("semistream-tests", master=options.spark_master, config={**_SETTINGS, **given}) as spark:
        for name in options.parts:
            part = import_module(f"tests.spark.deployments.{name}")
            told[name] = part.run(spark, options.folder / name)
    (options.folder / TOLD).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
