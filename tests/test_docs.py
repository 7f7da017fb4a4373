"""The examples in the documentation run. Those that need Spark run in `tests/spark/test_pages.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, Block, blocks, pages, run_page


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages(on_spark=False)]
)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, {"__name__": "__main__"})


def test_blocks_are_found_and_told_apart() -> None:
    page = (
        "text\n```python\na = 1\n```\n\n<!-- not run -->\n```python\nb\n```\n"
        "<!-- file: x.toml -->\n```toml\nc = 1\n```\n```sh\nls\nsemistream \\\n  run 'a b'  # so\n```\n"
    )
    found = blocks(page)
    assert found == [
        Block("python", "a = 1\n", 3),
        Block("python", "b\n", 8, "not run"),
        Block("toml", "c = 1\n", 12, "file: x.toml"),
        Block("sh", "ls\nsemistream \\\n  run 'a b'  # so\n", 15),
    ]
    assert [block.runs for block in found] == [True, False, True, True]
    assert [block.file for block in found] == [None, None, "x.toml", None]
    assert [block.on_spark for block in found] == [False, False, False, True]
    assert found[3].commands == [["run", "a b"]]


def test_the_page_of_algorithms_is_that_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "algorithm-docs", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
