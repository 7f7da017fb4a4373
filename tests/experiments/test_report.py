"""The report: whole, by itself, and shown by a real browser."""

from __future__ import annotations

import html.parser
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from semistream.experiments import catalogue, report
from semistream.experiments.claims.claim import Verdict
from semistream.experiments.claims.evidence import Evidence
from semistream.experiments.figure import QUICK, Figure, Scale
from semistream.experiments.results import CellResult, Results
from tests.experiments import browser

SPEED = {
    "tuned_x_hybridjoin": 8.0,
    "x_hybridjoin": 4.0,
    "hybridjoin": 2.0,
    "r_meshjoin": 1.0,
    "meshjoin": 1.0,
}
CHOSEN = ("s1-fig-6a", "s2-fig-3a", "s3-fig-11-hurst")
PROBE = """<script>addEventListener("load", () => {
  const shown = [...document.images].filter(image => image.complete && image.naturalWidth > 100).length;
  document.body.dataset.pictures = shown;
  document.body.dataset.overflow = document.documentElement.scrollWidth - innerWidth;
  document.body.dataset.outside = performance.getEntriesByType("resource")
    .filter(one => !one.name.startsWith("data:")).length;
});</script>"""
SCALE: Scale = replace(QUICK, share=0.001)


class Page(html.parser.HTMLParser):
    """Links, ids and what a page would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.body: dict[str, str | None] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.ids += [str(found["id"])] if "id" in found else []
        if tag == "a":
            self.links.append(str(found["href"]))
        elif "src" in found or "href" in found:
            self.sources.append(str(found.get("src") or found.get("href")))
        if tag == "body":
            self.body = found


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    return catalogue.figures(CHOSEN)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory, figures: list[Figure]) -> Evidence:
    """Made-up speeds, the same in every cell but one, which failed."""
    results = Results(tmp_path_factory.mktemp("results"))
    for cell in catalogue.cells(figures, SCALE):
        speed = SPEED.get(cell.algorithm, 0.5)
        results.save(CellResult(cell, ({"rows_per_second": speed},), {"rows_out": 10}))
    (sweep,) = (figure for figure in figures if figure.id == "s2-fig-3a")
    failed = next(one.cell for one in sweep.points(SCALE) if one.series.algorithm == "ssij" and one.x == 100)
    results.save(CellResult(failed, error="StoreError: <gone>"))
    return Evidence(results, SCALE)


@pytest.fixture(scope="module")
def page(evidence: Evidence, figures: list[Figure], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    report.write(path, figures, evidence)
    return path


def test_verdicts_are_those_of_the_claims(evidence: Evidence, figures: list[Figure]) -> None:
    verdicts = {
        claim.id: finding.verdict
        for found in report.judged(evidence, figures).values()
        for claim, finding in found
    }
    assert verdicts["S1-7"] is verdicts["S2-1"] is Verdict.REPRODUCED
    assert verdicts["O-5"] is Verdict.NOT
    assert sum(report.counted(report.judged(evidence, figures)).values()) == len(verdicts)


def test_the_page_is_whole_and_needs_nothing_else(page: Path, figures: list[Figure]) -> None:
    text = page.read_text()
    found = Page(text)
    assert len({*found.ids}) == len(found.ids)
    targets = {link.removeprefix("#") for link in found.links}
    assert all(link.startswith("#") for link in found.links)
    assert targets <= {*found.ids}
    assert all(source.startswith("data:") for source in found.sources)
    assert "url(" not in text
    assert "@import" not in text
    for figure in figures:
        assert figure.id in found.ids
        assert {*figure.claims} <= {*found.ids}


def test_a_failure_is_told_and_cannot_break_the_page(page: Path) -> None:
    text = page.read_text()
    assert "<li>ssij at 100: StoreError: &lt;gone&gt;</li>" in text
    assert "StoreError: <gone>" not in text
    assert "1 failed, 0 not run" in text
    assert "size</dt><dd>quick: R and M times 0.001</dd>" in text


@pytest.fixture(scope="module")
def probed(page: Path) -> Path:
    """The page, which says what became of it once a browser has loaded it."""
    path = page.with_name("probed.html")
    path.write_text(page.read_text().replace("</head>", PROBE + "</head>"))
    return path


@pytest.mark.parametrize("width", [500, 1200])
def test_a_browser_shows_it(probed: Path, figures: list[Figure], tmp_path: Path, width: int) -> None:
    shown = Page(browser.document(probed, tmp_path / "profile", f"--window-size={width},1000"))
    assert shown.body["data-pictures"] == str(len(figures))
    assert int(shown.body["data-overflow"] or 0) <= 0, "nothing is wider than the screen"
    assert shown.body["data-outside"] == "0"


def test_a_browser_draws_it(page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    browser.screenshot(page, tmp_path / "profile", picture, 500, 2000)
    content = picture.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (500, 2000)
    assert len(content) > 20_000, "an empty page is smaller"
