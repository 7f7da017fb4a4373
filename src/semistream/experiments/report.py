"""The report: one page with a verdict on every claim and every figure, which needs nothing but itself.

results -> evidence -> findings and figures' data -> one HTML file, pictures inside
"""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from semistream.experiments import plots
from semistream.experiments.catalogue import cells
from semistream.experiments.claims.catalogue import CLAIMS
from semistream.experiments.claims.claim import Claim, Finding, Verdict
from semistream.experiments.claims.evidence import Evidence
from semistream.experiments.figure import Figure, Scale
from semistream.experiments.page import PAGE, TITLES
from semistream.experiments.results import Results, machine, versions

Judged = tuple[Claim, Finding]
SHOWN_POINTS = 40  # of a series, in the table below its figure
CSS_CLASS = {
    Verdict.REPRODUCED: "good",
    Verdict.ONLY_UNDER: "partly",
    Verdict.NOT: "bad",
    Verdict.UNKNOWN: "unknown",
}


def judged(evidence: Evidence, chosen: Sequence[Figure]) -> Mapping[str, list[Judged]]:
    """Verdicts on every claim that one of these figures shows, by paper."""
    ids = {figure.id for figure in chosen}
    return {
        paper: [(claim, claim.judge(evidence)) for claim in claims if ids & {*claim.figures}]
        for paper, claims in CLAIMS.items()
    }


def counted(verdicts: Mapping[str, list[Judged]]) -> Mapping[Verdict, int]:
    """How many claims have each verdict."""
    counts = Counter(finding.verdict for found in verdicts.values() for _, finding in found)
    return {verdict: counts[verdict] for verdict in Verdict}


def write(path: Path, chosen: Sequence[Figure], evidence: Evidence) -> Mapping[str, list[Judged]]:
    """Write the page; returns the verdicts on it."""
    plots.require()
    verdicts = judged(evidence, chosen)
    content = PAGE.format(
        title="The papers, reproduced",
        summary=_summary(verdicts),
        contents=_contents(verdicts, chosen),
        run=_run(chosen, evidence.results, evidence.scale),
        claims="".join(
            _claims(paper, found, {figure.id for figure in chosen})
            for paper, found in verdicts.items()
            if found
        ),
        figures="".join(_figures(paper, chosen, evidence) for paper in CLAIMS),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")  # whoever reads `path` sees all of it
    unfinished.write_text(content, encoding="utf-8")
    os.replace(unfinished, path)
    return verdicts


def _summary(verdicts: Mapping[str, list[Judged]]) -> str:
    return "".join(
        f'<li class="{CSS_CLASS[verdict]}"><b>{count}</b> {_verdict(verdict)}</li>'
        for verdict, count in counted(verdicts).items()
        if count
    )


def _contents(verdicts: Mapping[str, list[Judged]], chosen: Sequence[Figure]) -> str:
    def links(kind: str, papers: Iterable[str]) -> str:
        return "".join(f'<li><a href="#{kind}-{paper}">{escape(TITLES[paper])}</a></li>' for paper in papers)

    claims = links("claims", (paper for paper, found in verdicts.items() if found))
    figures = links("figures", dict.fromkeys(figure.paper for figure in chosen))
    return (
        f'<li><a href="#run">The run</a></li><li>Claims<ul>{claims}</ul></li>'
        f"<li>Figures<ul>{figures}</ul></li>"
    )


def _run(chosen: Sequence[Figure], results: Results, scale: Scale) -> str:
    """Machine, settings, and how many cells there are."""
    wanted = {cell.id: cell for cell in cells(chosen, scale)}
    found = [result for cell in wanted.values() if (result := results.load(cell)) is not None]
    failed = [result for result in found if result.error is not None]
    told = {
        "size": f"{scale.name}: R and M times {scale.share:g}"
        + (f", partitions times {scale.partition_share:g}" if scale.partition_share != 1 else ""),
        "R where it isn't varied": f"{scale.master_millions:g} million rows times that",
        "seed": str(scale.seed),
        "repeats of a cell": str(scale.repeats),
        "cells": f"{len(found) - len(failed)} done, {len(failed)} failed, {len(wanted) - len(found)} not run",
        "output rows checked": f"{sum(result.checked.get('rows_out', 0) for result in found):,}",
        "time that the cells took": f"{sum(result.seconds for result in found) / 60:,.0f} minutes of a core",
        "machine": ", ".join(str(value) for value in machine().values()) + " cores",
        "versions": ", ".join(f"{name} {value}" for name, value in versions().items()),
    }
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in told.items())
    errors = "".join(
        f"<li>{escape(result.cell.algorithm)} ({result.cell.id}): {escape(str(result.error))}</li>"
        for result in failed
    )
    return f"<dl>{rows}</dl>" + (f"<p>Failed:</p><ul>{errors}</ul>" if errors else "")


def _claims(paper: str, found: Sequence[Judged], shown: Collection[str]) -> str:
    rows = "".join(_claim(claim, finding, shown) for claim, finding in found)
    head = "<tr><th>claim</th><th>verdict</th><th>what was measured</th></tr>"
    return (
        f'<section><h3 id="claims-{paper}">{escape(TITLES[paper])}</h3>'
        f'<table class="claims"><thead>{head}</thead><tbody>{rows}</tbody></table></section>'
    )


def _claim(claim: Claim, finding: Finding, shown: Collection[str]) -> str:
    links = ", ".join(f'<a href="#{name}">{name}</a>' if name in shown else name for name in claim.figures)
    held = "".join(f"<li>{escape(one)}</li>" for one in finding.under)
    under = f"<ul>{held}</ul>" if held else ""
    return (
        f'<tr id="{claim.id}" class="{CSS_CLASS[finding.verdict]}">'
        f"<td><b>{claim.id}</b> {escape(claim.says)}<p class=links>{links}</p></td>"
        f"<td><b>{_verdict(finding.verdict)}</b>{under}</td>"
        f"<td><p>{escape(finding.measured)}</p>{_answers(finding)}<p>{escape(finding.reason)}</p></td></tr>"
    )


def _verdict(verdict: Verdict) -> str:
    return f"{verdict} …" if verdict is Verdict.ONLY_UNDER else str(verdict)


def _answers(finding: Finding) -> str:
    if not finding.answers:
        return ""
    rows = "".join(
        f"<tr><td>{escape(answer.about)}</td><td>{escape(answer.paper)}</td>"
        f"<td>{escape(answer.corrected)}</td><td>{escape(answer.measured)}</td></tr>"
        for answer in finding.answers
    )
    head = "<tr><th></th><th>the paper's formula</th><th>corrected</th><th>measured</th></tr>"
    return f'<div class="wide"><table class="answers">{head}{rows}</table></div>'


def _figures(paper: str, chosen: Sequence[Figure], evidence: Evidence) -> str:
    own = [figure for figure in chosen if figure.paper == paper]
    if not own:
        return ""
    shown = "".join(_figure(evidence.figure(figure.id)) for figure in own)
    return f'<section><h3 id="figures-{paper}">{escape(TITLES[paper])}</h3>{shown}</section>'


def _figure(data: Mapping[str, Any]) -> str:
    picture = base64.b64encode(plots.svg(data).encode()).decode()
    told = f"{data['metric']['name']} by {data['x']['name']}"
    claims = ", ".join(f'<a href="#{claim}">{claim}</a>' for claim in data["claims"])
    note = f"<p>{escape(data['note'])}</p>" if data["note"] else ""
    return (
        f'<figure id="{data["id"]}"><figcaption><b>{data["id"]}</b> {escape(data["title"])} ({claims})'
        f'</figcaption><img alt="{escape(told)}" src="data:image/svg+xml;base64,{picture}">'
        f"{note}{_missing(data)}{_numbers(data)}</figure>"
    )


def _missing(data: Mapping[str, Any]) -> str:
    """What has no value, with its error."""
    gaps: dict[tuple[str, str], list[str]] = {}
    for series in data["series"]:
        for point in series["points"]:
            if point["y"] is None:
                why = point["error"] or "not run"
                gaps.setdefault((series["label"], why), []).append(_number(point["x"]))
    rows = "".join(
        f"<li>{escape(label)} at {escape(', '.join(places))}: {escape(why)}</li>"
        for (label, why), places in gaps.items()
    )
    return f'<p>Missing:</p><ul class="missing">{rows}</ul>' if rows else ""


def _numbers(data: Mapping[str, Any]) -> str:
    """The values as a table, folded away."""
    rows = []
    for series in data["series"]:
        for point in series["points"][:SHOWN_POINTS]:
            second = "" if point["second"] is None else f" / {_number(point['second'])}"
            reach = "" if point["low"] is None else f" ({_number(point['low'])} to {_number(point['high'])})"
            value = "missing" if point["y"] is None else _number(point["y"])
            rows.append(
                f"<tr><td>{escape(series['label'])}</td><td>{escape(_number(point['x']))}{escape(second)}</td>"
                f"<td>{value}{reach}</td></tr>"
            )
    return f"<details><summary>numbers</summary><table>{''.join(rows)}</table></details>"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
