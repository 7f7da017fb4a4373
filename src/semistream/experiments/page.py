"""The frame of the report: its headings, and how it looks on a screen of any width."""

from __future__ import annotations

TITLES = {
    "S1": "S1: Tuned X-HYBRIDJOIN",
    "S2": "S2: X-HYBRIDJOIN",
    "S3": "S3: HYBRIDJOIN",
    "S4": "S4: HYBRIDJOIN-PQ and CACHEJOIN-PQ",
    "S5": "S5: P-CACHEJOIN and OP-CACHEJOIN",
    "order": "All of them: who is faster than whom at Zipf 1",
}

STYLE = """
:root { --line: #d5d9de; --good: #1a7f37; --partly: #9a6700; --bad: #b42318; --unknown: #6b7280; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff;
  margin: 0 auto; max-width: 62rem; padding: 1rem; overflow-wrap: anywhere; }
h1 { line-height: 1.2; margin: .5rem 0; } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
a { color: #0b57a4; }
ul.summary { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; }
ul.summary li { border-left: .35rem solid; padding: .2rem .8rem; background: #f6f8fa; }
ul.summary b { font-size: 1.4rem; }
.good { border-color: var(--good) !important; } .partly { border-color: var(--partly) !important; }
.bad { border-color: var(--bad) !important; } .unknown { border-color: var(--unknown) !important; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: #57606a; } dd { margin: 0; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .5rem; border-bottom: 1px solid var(--line); }
td ul { margin: .4rem 0 0; padding-left: 1.1rem; font-size: .9rem; }
td p { margin: .4rem 0 0; } td p:first-child { margin-top: 0; }
.claims > tbody > tr { border-left: .35rem solid; }
.claims > tbody > tr > td:first-child { width: 30%; } .claims > tbody > tr > td:nth-child(2) { width: 26%; }
.good > td:nth-child(2) > b { color: var(--good); } .partly > td:nth-child(2) > b { color: var(--partly); }
.bad > td:nth-child(2) > b { color: var(--bad); } .unknown > td:nth-child(2) > b { color: var(--unknown); }
.links, .answers, details, .missing { font-size: .85rem; }
.wide { overflow-x: auto; } .answers td, .answers th { padding: .25rem .5rem; min-width: 6rem; }
main section { margin-bottom: 2rem; }
figure { margin: 2rem 0; } figure img { display: block; width: 100%; max-width: 44rem; height: auto; }
:target { scroll-margin-top: 1rem; background: #fff8c5; }
@media (max-width: 44rem) {
  .claims, .claims > tbody, .claims > tbody > tr { display: block; }
  .claims > tbody > tr > td { display: block; width: auto !important; }
  .claims > thead { display: none; } .claims > tbody > tr { margin-bottom: 1rem; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
}
"""

PAGE = (
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>"""
    + STYLE.replace("{", "{{").replace("}", "}}")
    + """</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>Five papers on semi-stream joins make claims that can be measured. Each was measured again with this
software, all algorithms under the papers' own accounting of memory, on a simulated hard disk of 2011 with
a virtual clock unless a figure says otherwise. A verdict is computed from these measurements alone.</p>
<ul class="summary">{summary}</ul>
<nav><ul>{contents}</ul></nav>
</header>
<main>
<h2 id="run">The run</h2>
{run}
<h2 id="claims">Claims</h2>
{claims}
<h2 id="figures">Figures</h2>
<p>What was measured has a line and markers, with its 95 % interval where a cell was repeated; the
corrected cost model's predictions are dashed, those of the paper's formula dotted. A value that failed is a
cross at the bottom, and stands below its figure with the error. MB are 2<sup>20</sup> bytes; sizes are the
papers', of which the run takes the part given above.</p>
{figures}
</main>
</body>
</html>
"""
)
