"""Examples in the documentation, and how they run: in order, in one folder and namespace, as for a reader.

Python is executed. A block of another kind below `<!-- file: NAME -->` becomes that file. In a shell block
the lines that call `semistream` are run. What stands below `<!-- not run -->` is shown only.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from semistream.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+) -->\n+)?^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    kind: str
    code: str
    line: int  # where it begins on its page
    mark: str | None = None

    @property
    def commands(self) -> list[list[str]]:
        """The calls of our command line in a shell block, without its name."""
        if self.kind != "sh":
            return []
        lines = self.code.replace("\\\n", " ").splitlines()
        words = [shlex.split(line, comments=True) for line in lines]
        return [line[1:] for line in words if line[:1] == ["semistream"]]

    @property
    def file(self) -> str | None:
        """The file that it becomes."""
        return self.mark.removeprefix("file: ") if self.mark and self.mark.startswith("file: ") else None

    @property
    def runs(self) -> bool:
        return self.mark != "not run" and bool(self.kind == "python" or self.file or self.commands)

    @property
    def on_spark(self) -> bool:
        """Whether it needs a session: it speaks of one, or calls a command that starts one."""
        named = self.kind == "python" and re.search(r"\bspark\b", self.code) is not None
        return self.runs and (named or bool(self.commands))


def blocks(page: str) -> list[Block]:
    return [
        Block(found["kind"], found["code"], page.count("\n", 0, found.start("code")) + 1, found["mark"])
        for found in BLOCK.finditer(page)
    ]


def pages(*, on_spark: bool) -> list[Path]:
    """The pages with examples that run, with or without a session."""
    found = [(page, [block for block in blocks(page.read_text()) if block.runs]) for page in PAGES]
    return [page for page, some in found if some and any(block.on_spark for block in some) == on_spark]


def run_page(page: Path, namespace: dict[str, Any]) -> None:
    """Run its examples in the current folder."""
    for block in blocks(page.read_text()):
        if not block.runs:
            continue
        if block.file is not None:
            Path(block.file).write_text(block.code)
        elif block.kind == "python":
            padded = "\n" * (block.line - 1) + block.code  # tracebacks show the page's line
            exec(compile(padded, page, "exec"), namespace)
        for command in block.commands:
            done = CliRunner().invoke(main, command)
            assert done.exit_code == 0, f"{page}, line {block.line}: {command}: {done.output}"
