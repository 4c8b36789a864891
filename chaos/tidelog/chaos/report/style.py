"""Style of reports, light and dark: colours once, then the figures, then the page.

Brokers have colours that people who are colour-blind tell apart (Okabe and Ito's), and are named
wherever they are drawn. Faults are ink; only what is wrong is red.
"""

from __future__ import annotations

_LIGHT = """
  --paper: #fffdfa; --ink: #23272e; --soft: #6a7079; --faint: #e6e3dd; --wash: #f4f1eb;
  --fault: #4a4f57; --fault-ink: #ffffff; --veil: #8b8474; --bad: #b3123f; --doubt: #8a6a00;
  --good: #1c7c54; --rate: #8f99a6; --on: #ffffff;
  --n0: #0068a8; --n1: #b54c00; --n2: #00805c; --n3: #a4478c; --n4: #7a6a00; --n5: #3a719f;
"""
_DARK = """
  --paper: #15181c; --ink: #e4e2dd; --soft: #979ca5; --faint: #2c3138; --wash: #1d2126;
  --fault: #b9bec6; --fault-ink: #15181c; --veil: #a9a491; --bad: #ff6b8b; --doubt: #e0b64a;
  --good: #5fcf9c; --rate: #6d7784; --on: #0e1114;
  --n0: #58b2ea; --n1: #f0914a; --n2: #35c39a; --n3: #d98cc4; --n4: #d0bc4f; --n5: #9cc4e4;
"""
COLOURS = f":root {{{_LIGHT}}}\n@media (prefers-color-scheme: dark) {{ :root {{{_DARK}}} }}\n"

_FONT = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif'

FIGURE_STYLE = f"""
.figure {{ fill: none; font: 11.5px {_FONT}; font-variant-numeric: tabular-nums; }}
.figure text {{ fill: var(--ink); }}
.figure .paper {{ fill: var(--paper); }}
.n0 {{ --node: var(--n0); }} .n1 {{ --node: var(--n1); }} .n2 {{ --node: var(--n2); }}
.n3 {{ --node: var(--n3); }} .n4 {{ --node: var(--n4); }} .n5 {{ --node: var(--n5); }}
.nx {{ --node: var(--soft); }}
.figure .grid {{ stroke: var(--faint); stroke-width: 1; }}
.figure .absent {{ stroke: var(--soft); stroke-width: 1; stroke-dasharray: 1 4; opacity: .6; }}
.figure text.tick, .figure text.note, .figure text.minor {{ fill: var(--soft); }}
.figure .title {{ font-weight: 650; fill: var(--ink); }}
.figure text.lane, .figure text.left, .figure text.end {{ text-anchor: end; }}
.figure text.middle {{ text-anchor: middle; }}
.figure text.minor {{ font-size: 9.5px; }}
.figure text.name, .figure text.end-name {{ fill: var(--node); font-weight: 600; }}
.figure .veil {{ fill: var(--veil); opacity: .1; }}
.figure .fault {{ fill: var(--fault); }}
.figure text.fault {{ fill: var(--fault-ink); font-size: 11px; }}
.figure text.beside {{ font-size: 11px; }}
.figure .leader, .figure .isr {{ fill: var(--node); }}
.figure text.leader {{ fill: var(--on); font-weight: 600; }}
.figure .deposed {{ fill: var(--node); }}
.figure .stripe {{ stroke: var(--paper); stroke-width: 2; opacity: .75; }}
.figure text.deposed {{ fill: var(--ink); font-weight: 600; paint-order: stroke;
  stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }}
.figure .follower {{ fill: color-mix(in srgb, var(--node) 24%, var(--paper)); }}
.figure text.follower {{ fill: var(--ink); }}
.figure .idle {{ stroke: var(--node); stroke-dasharray: 2 3; }}
.figure .elr {{ stroke: var(--node); stroke-width: 1; }}
.figure .vacant {{ stroke: var(--soft); stroke-dasharray: 2 3; }}
.figure .controller {{ fill: color-mix(in srgb, var(--soft) 26%, var(--paper)); }}
.figure text.controller, .figure text.vacant, .figure text.idle {{ fill: var(--ink); }}
.figure .wedge {{ fill: var(--node); opacity: .2; }}
.figure .tail {{ fill: var(--node); fill-opacity: .3; stroke: var(--node); stroke-width: 1; }}
.figure .leo {{ stroke: var(--node); stroke-width: 1.8; stroke-linejoin: round; }}
.figure .thin {{ stroke: var(--node); stroke-width: 1.2; stroke-linejoin: round; }}
.figure .hw {{ stroke: var(--node); stroke-width: 1.4; stroke-dasharray: 4 3; }}
.figure .gap {{ stroke: var(--node); stroke-width: 1; stroke-dasharray: 1 3; }}
.figure .fall {{ fill: var(--node); }}
.figure .bracket {{ stroke: var(--ink); stroke-width: 1; }}
.figure .remark {{ paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; font-weight: 550; }}
.figure .rate {{ fill: var(--rate); }}
.figure .latency {{ stroke: var(--ink); stroke-width: 1.8; }}
.figure .failed {{ fill: var(--bad); }}
.figure .unknown {{ fill: var(--doubt); }}
.figure path.anomaly {{ stroke: var(--bad); stroke-width: 1.2; }}
.figure circle.anomaly {{ fill: var(--bad); }}
.figure text.anomaly {{ fill: var(--paper); font-weight: 700; font-size: 10px; }}
.figure .cross {{ stroke: var(--ink); stroke-width: 1; opacity: .5; pointer-events: none; }}
"""

PAGE_STYLE = f"""
:root {{ color-scheme: light dark; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 {_FONT};
  font-variant-numeric: tabular-nums; }}
main {{ max-width: 1168px; margin: 0 auto; padding: 30px 24px 64px; }}
h1 {{ font-size: 27px; line-height: 1.22; font-weight: 680; letter-spacing: -.01em;
  margin: 6px 0 10px; max-width: 38em; overflow-wrap: anywhere; text-wrap: pretty; }}
h2 {{ font-size: 16px; font-weight: 650; margin: 38px 0 4px; }}
p {{ margin: 4px 0; max-width: 46em; overflow-wrap: anywhere; }}
a {{ color: inherit; text-decoration-color: var(--soft); text-underline-offset: 2px; }}
.kicker {{ color: var(--soft); display: flex; gap: 4px 16px; align-items: center;
  flex-wrap: wrap; }}
.kicker b {{ color: var(--ink); }}
.badge {{ font-weight: 680; padding: 2px 11px 2px 9px; border-radius: 99px; border: 1.5px solid;
  white-space: nowrap; }}
.ok {{ color: var(--good); }} .violation {{ color: var(--paper); background: var(--bad);
  border-color: var(--bad); }} .inconclusive {{ color: var(--doubt); border-style: dashed; }}
.soft {{ color: var(--soft); }}
.bad {{ color: var(--bad); }}
.keys {{ display: grid; grid-template-columns: repeat(8, auto); justify-content: space-between;
  gap: 14px 26px; margin: 24px 0 6px; padding: 14px 0; border: solid var(--faint);
  border-width: 1px 0; }}
.keys dt {{ color: var(--soft); font-size: 12.5px; order: 2; }}
.keys dd {{ margin: 0; font-size: 23px; line-height: 1.2; font-weight: 620; }}
.keys dd small {{ font-size: 13px; font-weight: 500; color: var(--soft); }}
.keys div {{ display: flex; flex-direction: column; }}
.chart {{ position: relative; overflow-x: auto; margin: 8px 0 0; }}
.chart svg {{ display: block; width: 100%; min-width: 720px; height: auto; }}
.tip {{ position: fixed; z-index: 2; pointer-events: none; background: var(--paper);
  border: 1px solid var(--soft); border-radius: 6px; padding: 6px 10px; font-size: 12px;
  line-height: 1.45; white-space: pre-wrap; max-width: 380px; box-shadow: 0 3px 14px #0003; }}
.tip:first-line {{ font-weight: 680; }}
details {{ margin: 10px 0; border-top: 1px solid var(--faint); padding-top: 10px; }}
summary {{ cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }}
summary .soft {{ font-weight: 400; }}
details.anomaly {{ border-top: 0; padding: 0 0 0 12px; border-left: 3px solid var(--bad); }}
table {{ border-collapse: collapse; width: 100%; margin: 8px 0; font-size: 13.5px; }}
th {{ text-align: left; font-weight: 600; color: var(--soft); font-size: 12.5px;
  vertical-align: bottom; }}
th, td {{ padding: 3px 16px 3px 0; border-bottom: 1px solid var(--faint); }}
td {{ vertical-align: top; overflow-wrap: anywhere; }}
td.number, th.number {{ text-align: right; white-space: nowrap; width: 1%; }}
.runs th {{ padding-right: 12px; }} .runs td {{ padding-right: 12px; }}
.runs th.number {{ white-space: normal; }}
td.name {{ color: var(--soft); width: 1%; min-width: 8em; }}
tr:last-child td {{ border-bottom: 0; }}
pre {{ font: 12.5px/1.55 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace;
  overflow-wrap: anywhere; white-space: pre-wrap; }}
pre {{ background: var(--wash); padding: 8px 12px; border-radius: 6px; margin: 8px 0; }}
details pre {{ max-height: 24em; overflow-y: auto; }}
pre.command {{ user-select: all; }}
.facts {{ display: grid; gap: 2px 32px; margin: 6px 0;
  grid-template-columns: repeat(auto-fill, minmax(min(440px, 100%), 1fr)); }}
.facts div {{ display: grid; grid-template-columns: 230px minmax(0, 1fr); gap: 14px; }}
.facts dt {{ color: var(--soft); overflow-wrap: anywhere; }}
.facts dd {{ margin: 0; overflow-wrap: anywhere; }}
input[type=search] {{ font: inherit; font-size: 13.5px; color: inherit; background: var(--wash);
  border: 1px solid var(--faint); border-radius: 6px; padding: 4px 10px; width: 22em;
  max-width: 100%; margin: 8px 12px 2px 0; }}
.runs td {{ padding-top: 9px; padding-bottom: 9px; }}
.runs svg {{ display: block; }}
.runs .claim {{ display: block; color: var(--soft); font-size: 12.5px; line-height: 1.4; }}
.spark {{ width: 124px; height: 28px; }}
.spark .fault {{ fill: var(--veil); opacity: .3; }} .spark .rate {{ fill: var(--rate); }}
.strip {{ width: 144px; height: 30px; font: 10.5px {_FONT}; }}
.strip text {{ fill: var(--soft); }} .strip .grid {{ stroke: var(--faint); fill: none; }}
.strip circle {{ fill: var(--ink); opacity: .55; }} .strip .median {{ stroke: var(--ink); }}
.runs th:first-child {{ width: 34%; }}
.verdicts {{ display: flex; flex-wrap: wrap; gap: 4px; width: 116px; }}
.verdicts a {{ text-decoration: none; font-size: 11.5px; padding: 0; width: 20px; height: 20px;
  line-height: 17px; text-align: center; }}
@media (max-width: 900px) {{ .keys {{ grid-template-columns: repeat(4, auto); }} }}
@media (max-width: 640px) {{
  main {{ padding: 18px 12px 40px; }}
  .keys {{ grid-template-columns: repeat(2, minmax(0, 1fr)); }}
  .facts div {{ grid-template-columns: minmax(0, 1fr); gap: 0; }}
  table.runs {{ display: block; overflow-x: auto; }}
}}
@media print {{
  @page {{ margin: 12mm; }}
  :root {{ --paper: #ffffff; }}
  body {{ font-size: 11.5px; }}
  main {{ padding: 0; max-width: none; }}
  .chart svg {{ min-width: 0; }}
  .chart, details.anomaly, tr {{ break-inside: avoid; }}
  .tip, input {{ display: none; }}
  details pre {{ max-height: none; }}
  details::details-content {{ content-visibility: visible; }}
}}
"""
