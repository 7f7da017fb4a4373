"""The files that the documentation's examples speak of: a shop's sales, products, customers and suppliers."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from semistream.stores.clustered_build import build

PRODUCTS = 500
SALES = 1000
UNKNOWN = 7  # one product in so many is in no master


def write_shop(folder: Path) -> None:
    keys = [key for key in range(PRODUCTS) if key % UNKNOWN]
    rest = {
        "surrogate_key": [surrogate(key) for key in keys],
        "product_name": [f"product {key}" for key in keys],
        "sale_price": [price(key) for key in keys],
        "supplier_id": [key % 20 for key in keys],
    }
    products = pa.table({"product_id": keys, **rest})
    write(folder / "products.parquet", products)
    build(
        pa.table({"code": [f"c{key}" for key in keys], **rest}), folder / "products by code", "code"
    ).close()
    names = pa.table({"supplier_id": range(20), "supplier_name": [f"supplier {i}" for i in range(20)]})
    build(names, folder / "suppliers", "supplier_id").close()
    customers = pa.table({"customer_id": range(50), "region": [f"region {i % 4}" for i in range(50)]})
    pyarrow.csv.write_csv(customers, folder / "customers.csv")
    write(folder / "sales", pa.Table.from_pylist([sale(number) for number in range(SALES)], SCHEMA))
    (folder / "in" / "web").mkdir(parents=True)
    (folder / "in" / "shops").mkdir()
    web = [
        {"sale": n, "product": product(n), "at": moment(n).isoformat(), "quantity": quantity(n)}
        for n in range(SALES)
    ]
    lines = [json.dumps(row) for row in web + web[::3]]  # every third one twice
    (folder / "in" / "web" / "1.json").write_text("\n".join(lines))
    shops = [f"{n},c{product(n)},{moment(n).isoformat()},{quantity(n)}" for n in range(SALES)]
    (folder / "in" / "shops" / "1.csv").write_text("\n".join(["ticket,code,at,pieces", *shops]))


SCHEMA = pa.schema(
    {
        "sale_id": pa.int64(),
        "product_id": pa.int64(),
        "customer_id": pa.int64(),
        "quantity": pa.int32(),
        "date": pa.timestamp("us", tz="UTC"),
    }
)


def sale(number: int) -> dict[str, object]:
    return {
        "sale_id": number,
        "product_id": product(number),
        "customer_id": number % 60,
        "quantity": quantity(number),
        "date": moment(number),
    }


def product(number: int) -> int:
    return number * 37 % PRODUCTS


def quantity(number: int) -> int:
    return number % 5 + 1


def moment(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC) + dt.timedelta(seconds=number)


def known(number: int) -> bool:
    return product(number) % UNKNOWN != 0


def surrogate(key: int) -> int:
    return key * 10


def price(key: int) -> float:
    return key / 4


def write(folder: Path, table: pa.Table) -> None:
    folder.mkdir()
    pq.write_table(table, folder / "part.parquet")
