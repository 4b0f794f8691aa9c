#include "reports/page_parts.hpp"

namespace plumbline {

const char* page_template() {
  return R"PAGE(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
:root { color-scheme: light; --ink: #1c2530; --soft: #5a6673; --line: #d5dbe1; --wash: #f5f7f9;
  --good: #0b5c8e; --good-wash: #dcebf6; --bad: #9c2f00; --wait: #f4d35e; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; color: var(--ink); background: #fff; }
main, .band > div { max-width: 1080px; margin: 0 auto; padding: 0 24px; }
h1 { font-size: 34px; line-height: 1.15; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 21px; margin: 38px 0 10px; padding-top: 14px; border-top: 2px solid var(--ink); }
h3 { font-size: 16px; margin: 22px 0 6px; }
p { margin: 6px 0; max-width: 84ch; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12.5px; }
pre { background: var(--wash); border: 1px solid var(--line); padding: 8px 10px; margin: 6px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.band { padding: 26px 0 22px; border-bottom: 1px solid var(--line); background: var(--good-wash); border-top: 8px solid var(--good); }
.band.bad { background: #fbe9e1; border-top-color: var(--bad); }
.band .mark { font-size: 34px; margin-right: 6px; }
.lead { font-size: 17px; margin: 8px 0 16px; }
.tiles { display: flex; flex-wrap: wrap; gap: 10px; margin: 0; padding: 0; list-style: none; }
.tiles li { background: #fff; border: 1px solid var(--line); padding: 8px 14px; min-width: 112px; }
.tiles b { display: block; font-size: 21px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tiles span { font-size: 12.5px; color: var(--soft); }
.notrun { margin: 14px 0 0; padding: 8px 14px; background: #fff; border: 2px dashed #7a6200; }
.notrun ul { margin: 4px 0; padding-left: 20px; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 4px 9px; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { border-bottom: 1.5px solid var(--ink); font-size: 12.5px; }
.table { overflow-x: auto; }
.table td { font-size: 13px; }
.table tbody th { font-size: 13px; font-weight: 400; color: var(--soft); }
.cell .table td:last-child { min-width: 26ch; }
td.num, th.num { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.grids { display: flex; flex-wrap: wrap; gap: 12px 44px; }
.grid { border-collapse: separate; border-spacing: 2px; font-size: 13px; }
.grid caption { text-align: left; font-weight: 600; padding: 2px 0 4px; }
.grid th, .grid td { border: 0; padding: 0; }
.grid thead th { text-align: center; border: 0; font-variant-numeric: tabular-nums; }
.grid th.axis { text-align: right; font-weight: 400; color: var(--soft); padding-right: 8px; }
.grid tbody th { text-align: right; font-weight: 400; padding-right: 8px; white-space: nowrap; }
.grid td { width: 31px; height: 22px; text-align: center; vertical-align: middle; }
.grid a, .key i { display: block; width: 31px; height: 22px; line-height: 20px; text-align: center; text-decoration: none; font-style: normal;
  color: var(--ink); border: 1px solid transparent; font-size: 13px; }
.grid a:hover, .grid a:focus { outline: 2px solid var(--ink); }
.grid .holds, .key .holds { background: var(--good-wash); color: var(--good); border-color: #bcd6e9; }
.grid .fails, .key .fails { background: var(--bad); color: #fff; border: 2px solid #000; font-weight: 700; line-height: 18px; }
.grid .not_run, .key .not_run, .grid .not_triggered, .key .not_triggered { border: 2px dashed #000; background: var(--wait); font-weight: 700; line-height: 18px; }
.grid .optional { border-style: dotted; border-width: 1px; }
.grid .not_applicable, .key .not_applicable { color: var(--soft); border-color: var(--line); }
.grid .none { color: var(--soft); border-color: #fff; }
.upright thead th.turn { height: 132px; vertical-align: bottom; }
.upright thead th.turn span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; font-weight: 400; }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 6px 0 4px; padding: 0; list-style: none; font-size: 13px; }
.key li { display: flex; align-items: center; gap: 6px; }
details { margin: 4px 0; }
summary { cursor: pointer; }
summary:hover { text-decoration: underline; }
details.cell { border: 1px solid var(--line); padding: 3px 10px; }
details.cell:target, tr:target > * { background: #fff7d6; }
.outcome { white-space: nowrap; }
.fail { font-weight: 700; color: var(--bad); }
.failure { border: 1px solid var(--line); border-left: 8px solid var(--bad); padding: 10px 16px; margin: 12px 0; break-inside: avoid; }
.failure h3 { margin: 0 0 4px; }
.divergence td, .divergence th { font-size: 13px; }
.divergence td.value { overflow-wrap: anywhere; font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12.5px; }
figure { margin: 10px 0; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { font-size: 13px; color: var(--soft); max-width: 96ch; }
.note { border-left: 4px solid #7a6200; padding: 4px 12px; background: var(--wash); margin: 10px 0; }
footer { color: var(--soft); font-size: 12.5px; padding: 26px 0 40px; }
@media print {
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { font-size: 11px; } h2 { break-after: avoid; } figure, .grid, .failure { break-inside: avoid; }
  .band { padding: 10px 0; } main, .band > div { padding: 0 4px; }
  .grids { gap: 6px 20px; } .grid { font-size: 10.5px; border-spacing: 1px; }
  .grid td, .grid a { width: 23px; height: 17px; line-height: 15px; }
  .grid .fails, .grid .not_run, .grid .not_triggered { line-height: 13px; }
  h3 { break-after: avoid; } .table { overflow: visible; }
  .table table:not(.grid) td, .table table:not(.grid) th, .divergence td.value { font-size: 10px; padding: 2px 5px; }
}
</style>
</head>
<body>
<div class="band{{^holds}} bad{{/holds}}"><div>
<h1><span class="mark" aria-hidden="true">{{mark}}</span>{{word}}</h1>
<p class="lead">{{lead}}</p>
<ul class="tiles">{{#tiles}}<li><b>{{value}}</b><span>{{label}}</span></li>{{/tiles}}</ul>
{{#has_counts}}<details class="small soft"><summary>All that was counted</summary><p>{{all_counts}}.</p></details>{{/has_counts}}
{{#has_not_run}}
<div class="notrun"><b>Not run: {{not_run_count}}</b>
<ul>{{#not_run_first}}<li>{{text}}</li>{{/not_run_first}}</ul>
{{#not_run_more}}<p class="small"><a href="#not-run">and {{count}} more</a></p>{{/not_run_more}}
</div>
{{/has_not_run}}
{{#all_run}}<p class="small soft">Everything that was planned was run.</p>{{/all_run}}
{{#partial}}<p class="small soft">A part of the sweep was asked for, and nothing is claimed of the rest. {{selected}}.</p>{{/partial}}
{{#has_warnings}}
<div class="notrun"><b>What these data could not show</b> (nobody required it)
<ul>{{#warnings}}<li>{{text}}</li>{{/warnings}}</ul></div>
{{/has_warnings}}
</div></div>
<main>
{{#has_failures}}
<h2 id="failures">What does not hold</h2>
{{#failures}}
<div class="failure">
<h3>{{title}}</h3>
<p class="small soft">{{id}}</p>
{{#divergence}}
<p><b>First divergence:</b> {{words}}</p>
<div class="table"><table class="divergence"><thead><tr><th>rung</th><th>step</th><th>microbatch</th><th>stage</th><th>rank</th><th>direction</th><th>tensor</th><th>expected</th><th>got</th><th>size</th></tr></thead>
<tbody><tr><td>{{rung}}</td><td>{{step}}</td><td>{{microbatch}}</td><td>{{stage}}</td><td>{{rank}}</td><td>{{direction}}</td><td>{{item}}</td><td class="value">{{expected}}</td><td class="value">{{got}}</td><td>{{size}}</td></tr></tbody></table></div>
{{/divergence}}
<ul>{{#reasons}}<li><b>{{name}}</b> {{outcome}}{{#has_reason}}: {{reason}}{{/has_reason}}{{#has_place}} <span class="soft">({{place}})</span>{{/has_place}}</li>{{/reasons}}</ul>
{{^reasons}}<p>No check was recorded for this cell.</p>{{/reasons}}
{{#has_second_run}}<p><b>Run once more:</b> {{second_run}}</p>{{/has_second_run}}
{{#has_command}}<p class="small">Run this one cell again:</p><pre>{{command}}</pre>{{/has_command}}
</div>
{{/failures}}
{{#has_more_failures}}
<details><summary>{{more_count}} more cells that do not hold</summary>
<div class="table"><table><thead><tr><th>cell</th><th>what</th><th>run it again</th></tr></thead><tbody>
{{#more_failures}}<tr><td>{{title}}</td><td>{{what}}</td><td><code>{{command}}</code></td></tr>
{{/more_failures}}</tbody></table></div></details>
{{/has_more_failures}}
{{/has_failures}}

<h2 id="cells">Every cell: world size against check</h2>
<p>A cell is one pipeline run, compared with the reference that trained the same model alone on one device. Each square is one check of one cell; follow it to what was looked at, the limit and what was measured. In brackets stands how many of these squares there are; checks of the references have none.</p>
<ul class="key">{{#outcomes}}<li><i class="{{class}}">{{sign}}</i>{{words}} ({{count}})</li>{{/outcomes}}</ul>
{{#subjects}}
<h3>{{title}}</h3>
<div class="grids">
{{#grids}}
<table class="grid"><caption>{{schedule}}</caption>
<thead><tr><th class="axis">world size P</th>{{#worlds}}<th><a href="#{{anchor}}" title="{{title}}">{{world}}</a></th>{{/worlds}}</tr></thead>
<tbody>
{{#rows}}<tr><th title="{{claim}}">{{check}}</th>{{#squares}}<td>{{#there}}<a class="{{class}}" href="#{{anchor}}" title="{{hint}}">{{sign}}</a>{{/there}}</td>{{/squares}}</tr>
{{/rows}}</tbody></table>
{{/grids}}
</div>
<details><summary>Details of these {{count}}</summary>
{{#details}}{{>cell}}{{/details}}
</details>
{{/subjects}}
{{#has_singles}}
<h3 id="balances">Explicit balances and other cells of their own</h3>
<p class="small soft">Layers per stage are set by hand here, most with stages that hold none.</p>
<div class="table"><table class="grid upright"><thead><tr><th></th>{{#single_checks}}<th class="turn"><span>{{text}}</span></th>{{/single_checks}}</tr></thead>
<tbody>
{{#singles}}<tr><th><a style="all:unset;cursor:pointer" href="#{{anchor}}">{{title}}</a></th>{{#squares}}<td>{{#there}}<a class="{{class}}" href="#{{anchor}}" title="{{hint}}">{{sign}}</a>{{/there}}</td>{{/squares}}</tr>
{{/singles}}</tbody></table></div>
<details><summary>Details of these {{single_count}}</summary>
{{#single_details}}{{>cell}}{{/single_details}}
</details>
{{/has_singles}}

{{#has_reference_checks}}
<h2 id="references">The references</h2>
<p>Each trained alone on one device. What their data could show is looked at once, however many cells are compared with them.</p>
{{#reference_checks}}{{>cell}}{{/reference_checks}}
{{/has_reference_checks}}
<h2 id="plots">Loss and memory</h2>
{{^plots}}<p class="note">No cell could be read together with its reference, so there is nothing to draw.</p>{{/plots}}
{{#plots}}
<h3>{{title}}</h3>
<figure>{{{loss_svg}}}<figcaption>{{loss_caption}}</figcaption></figure>
<details><summary>Loss in numbers</summary><div class="table"><table><thead><tr><th>run</th><th class="num">losses compared</th><th class="num">differing</th><th class="num">largest difference</th></tr></thead><tbody>
{{#loss_rows}}<tr><td>{{run}}</td><td class="num">{{compared}}</td><td class="num">{{differing}}</td><td class="num">{{largest}}</td></tr>
{{/loss_rows}}</tbody></table>
<table><thead><tr><th class="num">step</th><th class="num">reference's loss</th></tr></thead><tbody>
{{#step_rows}}<tr><td class="num">{{step}}</td><td class="num">{{loss}}</td></tr>
{{/step_rows}}</tbody></table></div></details>
{{#activation_svg}}<figure>{{{svg}}}<figcaption>{{caption}}</figcaption></figure>{{/activation_svg}}
{{#state_svg}}<figure>{{{svg}}}<figcaption>{{caption}}</figcaption></figure>{{/state_svg}}
<details><summary>Memory in numbers (bytes)</summary><div class="table"><table><thead><tr><th>run</th><th class="num">rank</th><th>units</th><th class="num">peak activations</th><th class="num">by the law</th><th class="num">parameters</th><th class="num">gradients</th><th class="num">optimiser state</th></tr></thead><tbody>
{{#memory_rows}}<tr><td>{{run}}</td><td class="num">{{rank}}</td><td>{{units}}</td><td class="num">{{measured}}</td><td class="num">{{law}}</td><td class="num">{{parameters}}</td><td class="num">{{gradients}}</td><td class="num">{{optimizer}}</td></tr>
{{/memory_rows}}</tbody></table></div></details>
{{/plots}}

{{#has_timelines}}
<h2 id="timelines">Planned and measured time</h2>
<p>For each schedule one cell: its largest world size from 2 on that this machine has a core a rank for{{#cores}} ({{count}} cores){{/cores}}; where there is none, the smallest from 2 on. Drawn is the step with the median time among all but the first. Planned is the same list simulated with the median times of that run's own forwards and backwards, messages taking no time. A bubble is the largest share, over the ranks, of the time between a rank's first and last computation in which it computed nothing.</p>
<div class="table"><table><thead><tr><th>schedule</th><th>cell</th><th class="num">P</th><th class="num">first F to last B or W: measured, ms</th><th class="num">planned, ms</th><th class="num">bubble: measured</th><th class="num">planned</th><th class="num">closed form</th></tr></thead><tbody>
{{#timelines}}<tr><td>{{schedule}}</td><td>{{cell}}</td><td class="num">{{world}}</td><td class="num">{{measured_ms}}</td><td class="num">{{planned_ms}}</td><td class="num">{{measured_rate}}</td><td class="num">{{planned_rate}}</td><td class="num">{{closed_rate}}</td></tr>
{{/timelines}}</tbody></table></div>
<p class="small soft">Measured here: the median over a run's steps but the first. Draw any other: <code>plumbline schedule show --record cells/CELL --step N --out FILE.svg</code></p>
{{#timelines}}<details><summary>{{schedule}}, P = {{world}}: drawn</summary><figure>{{{svg}}}<figcaption>{{caption}}</figcaption></figure></details>
{{/timelines}}
{{/has_timelines}}
<h2 id="not-run">What was not run</h2>
{{#has_not_run}}<ul>{{#not_run}}<li>{{text}}</li>{{/not_run}}</ul>{{/has_not_run}}
{{#all_run}}<p>Nothing was left out.</p>{{/all_run}}
{{#partial}}<p>Beside what stands here, all that was not asked for. {{selected}}.</p>{{/partial}}
{{#has_unfit}}<details><summary>Cells of the matrix that their schedule cannot have: {{unfit_count}}</summary><ul>{{#unfit}}<li>{{text}}</li>{{/unfit}}</ul></details>{{/has_unfit}}
{{#has_skipped}}
<p>Checks that did not apply or were not run, and why:</p>
<div class="table"><table><thead><tr><th>check</th><th>outcome</th><th class="num">cells</th><th>why</th></tr></thead><tbody>
{{#skipped}}<tr><td>{{check}}</td><td>{{outcome}}</td><td class="num">{{cells}}</td><td>{{why}}</td></tr>
{{/skipped}}</tbody></table></div>
{{/has_skipped}}
{{#has_missing}}
<div class="note"><b>Records that could not be read</b> (nothing of them is drawn; the verdict above does not depend on this page):
<ul>{{#missing}}<li>{{text}}</li>{{/missing}}</ul></div>
{{/has_missing}}

<h2 id="machine">Machine and data</h2>
{{#machine}}
<h3>{{name}}</h3>
<div class="table"><table><tbody>{{#entries}}<tr><th>{{key}}</th><td>{{value}}</td></tr>
{{/entries}}</tbody></table></div>
{{/machine}}
{{^machine}}<p class="note">The verdict names no machine.</p>{{/machine}}
{{#has_references}}
<h3>references</h3>
<div class="table"><table><thead><tr><th>reference</th><th>dtype</th><th class="num">seed</th><th class="num">steps</th><th class="num">microbatches</th><th>data digest</th><th>source</th></tr></thead><tbody>
{{#references}}<tr><td>{{id}}</td><td>{{dtype}}</td><td class="num">{{seed}}</td><td class="num">{{steps}}</td><td class="num">{{microbatches}}</td><td><code>{{digest}}</code></td><td>{{source}}</td></tr>
{{/references}}</tbody></table></div>
{{/has_references}}
<footer>{{footer}} The same findings for machines: <code>verdict.json</code>, <code>results.csv</code>, <code>junit.xml</code>, beside this page.</footer>
</main>
</body>
</html>
)PAGE";
}

}  // namespace plumbline
