"""The style sheet of a study's report, beside that of all pages."""

STYLE = """
:root { --heat-above: #8ec5f0; --heat-below: #f3bd88;
  --line-0: #1b1f24; --line-1: #0b62c4; --line-2: #b3420a; --line-3: #1a7f37; --line-4: #8327b8;
  --line-5: #a1135f; --line-6: #0a7373; --line-7: #7a5c00; }
@media (prefers-color-scheme: dark) { :root { --heat-above: #1f5f93;
  --heat-below: #80470f; --line-0: #e6e9ed; --line-1: #6cb2ff; --line-2: #ff9d5c; --line-3: #6fdd8b;
  --line-4: #d2a1ff; --line-5: #ff8fc4; --line-6: #5fd6d6; --line-7: #e6c34a; } }
body { max-width: 68rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; list-style: none; padding: 0;
  margin: 1rem 0; }
a { color: var(--line-1); }
section { scroll-margin-top: 1rem; }
caption { font-size: .92rem; line-height: 1.4; }
caption span { display: inline-block; position: sticky; left: 0;
  max-width: min(46rem, calc(100vw - 2rem)); }
td { white-space: nowrap; } thead th { vertical-align: bottom; }
table { border-collapse: separate; border-spacing: 0; }
th, td { padding: .28rem .7rem; }
dl { grid-template-columns: 11rem 1fr; }
td small { color: var(--quiet); font-size: .8em; }
th[scope="row"] { font-weight: 500; }
tr.group th { padding-top: .9rem; font-weight: 700; }
tr.beside th, tr.beside td { color: var(--quiet); font-size: .88em; font-weight: 400; }
tr.beside th { padding-left: 1.6rem; }
abbr { text-decoration: underline dotted; }
.heat { background: color-mix(in srgb, var(--heat-above) var(--heat), var(--paper));
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.heat.below { background: color-mix(in srgb, var(--heat-below) var(--heat), var(--paper)); }
figure { margin: .8rem 0 .3rem; }
.chart { width: 100%; min-width: 34rem; max-width: 46rem; height: auto; font-size: 12px; }
.chart text { fill: var(--quiet); } .chart .rule { stroke: var(--line); }
.line polyline { fill: none; stroke: var(--own); stroke-width: 2; stroke-linejoin: round; }
.line circle { fill: var(--own); } .chart .line text { fill: var(--own); font-weight: 600; }
.line .lead { fill: none; stroke: var(--own); stroke-width: .7; opacity: .5; }
.color-0 { --own: var(--line-0); } .color-1 { --own: var(--line-1); }
.color-2 { --own: var(--line-2); } .color-3 { --own: var(--line-3); }
.color-4 { --own: var(--line-4); } .color-5 { --own: var(--line-5); }
.color-6 { --own: var(--line-6); } .color-7 { --own: var(--line-7); }
.color-2 polyline, .color-6 polyline { stroke-dasharray: 7 3; }
.color-3 polyline, .color-7 polyline { stroke-dasharray: 2 3; }
.color-4 polyline { stroke-dasharray: 9 3 2 3; } .color-5 polyline { stroke-dasharray: 4 2; }
pre { margin: .5rem 0; padding: .7rem .9rem; background: var(--soft); border-radius: .4rem;
  font-size: .85rem; line-height: 1.45; min-width: max-content; }
pre code { padding: 0; background: none; }
summary { cursor: pointer; padding: .2rem 0; }
fieldset { border: 1px solid var(--line); border-radius: .5rem; padding: .3rem .9rem .5rem; }
.filters { display: flex; flex-wrap: wrap; gap: .6rem; margin: .8rem 0; }
label { display: inline-block; padding: .25rem .5rem .25rem 0; margin-right: .5rem; }
.fixed { color: var(--good); } .broken { color: var(--bad); } .still-wrong { color: var(--quiet); }
:focus-visible { outline: 3px solid var(--line-1); outline-offset: 2px; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; }
  th, td { padding: .28rem .4rem; } table { font-size: .9rem; }
  th[scope="row"], thead th:first-child { position: sticky; left: 0; min-width: 4.5rem;
    background: var(--paper); } tr.beside th { padding-left: .8rem; } }
@media print { nav, .filters { display: none; } .scroll { overflow: visible; }
  table { break-inside: avoid; font-size: .8rem; } h2, h3 { break-after: avoid; }
  .chart { min-width: 0; } pre { white-space: pre-wrap; min-width: 0; } }
"""
