"""The examples in the documentation run.

The Python blocks of a page run in order, in one namespace, as a reader would type them. A block
below the line `<!-- not run -->` is shown only.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?P<shown_only><!-- not run -->\n+)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    code: str
    line: int  # where it begins on its page
    runs: bool


def blocks(page: str) -> list[Block]:
    return [
        Block(found["code"], page.count("\n", 0, found.start("code")) + 1, runs=found["shown_only"] is None)
        for found in BLOCK.finditer(page)
    ]


PAGES_WITH_EXAMPLES = [page for page in PAGES if any(block.runs for block in blocks(page.read_text()))]


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES_WITH_EXAMPLES]
)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page.read_text()):
        if block.runs:
            padded = "\n" * (block.line - 1) + block.code  # tracebacks show the page's line
            exec(compile(padded, page, "exec"), namespace)


def test_readme_has_an_example_that_runs() -> None:
    assert ROOT / "README.md" in PAGES_WITH_EXAMPLES


def test_blocks_are_found_and_told_apart() -> None:
    page = "text\n```python\na = 1\n```\n\n<!-- not run -->\n```python\nb\n```\n```sh\nls\n```\n"
    assert blocks(page) == [Block("a = 1\n", 3, True), Block("b\n", 8, False)]


def test_the_page_of_algorithms_is_that_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "algorithm-docs", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
