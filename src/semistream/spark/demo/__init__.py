"""`semistream demo`: the inventory sales of paper S2 (Fig. 1), through the machinery of `semistream run`.

sales.py      how much of it there is, the products on disk, the pipeline file
running.py    the pipeline, until every sale is in the warehouse
comparing.py  the same batches through `lookup_join` and through Spark's own join
checking.py   every row of the warehouse against what its key says it must be
"""

from __future__ import annotations

from semistream.spark.demo.checking import check_warehouse, some_rows
from semistream.spark.demo.comparing import Comparison, compare
from semistream.spark.demo.running import Streamed, demo_session, stream_sales
from semistream.spark.demo.sales import FULL, MEMORY, QUICK, Scale, Shop, write_pipeline, write_products

__all__ = [
    "FULL",
    "MEMORY",
    "QUICK",
    "Comparison",
    "Scale",
    "Shop",
    "Streamed",
    "check_warehouse",
    "compare",
    "demo_session",
    "some_rows",
    "stream_sales",
    "write_pipeline",
    "write_products",
]
