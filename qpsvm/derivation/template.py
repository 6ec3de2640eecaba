"""The page of a derivation: its style, one element for a notebook, and the file around it."""

STYLE = """
.SCOPE { background: #fff; color: #1b1f24; font: 15px/1.45 system-ui, sans-serif; padding: 0.5em 1em; }
.SCOPE h1 { font-size: 1.35em; margin: 0.3em 0; }
.SCOPE h2 { font-size: 1.05em; margin: 0 0 0.4em; }
.SCOPE h2 .tag { color: #57606a; font-weight: normal; margin-right: 0.5em; }
.SCOPE .headline { margin: 0 0 1em; }
.SCOPE .headline.warning { border-left: 4px solid #b35900; background: #fff4e5; padding: 0.5em 0.8em; }
.SCOPE .step { border-top: 1px solid #d0d7de; padding: 0.8em 0; display: grid; column-gap: 1.2em;
  grid-template-columns: minmax(0, 4fr) minmax(0, 5fr) 9em; }
.SCOPE .equation math { font-size: 1.1em; margin: 0.4em 0; }
.SCOPE .equation { overflow-x: auto; }
.SCOPE .statement { color: #57606a; font-size: 0.87em; margin: 0.6em 0 0; }
.SCOPE mtd { padding: 0.15em 0; }
.SCOPE mtd[columnalign=left] { text-align: left; }
.SCOPE mtd[columnalign=right] { text-align: right; }
.SCOPE .where { color: #57606a; font: 0.8em/1.4 ui-monospace, monospace; margin: 0; }
.SCOPE .code pre { background: #f6f8fa; border-radius: 6px; font: 12.5px/1.45 ui-monospace, monospace; margin: 0.3em 0;
  max-height: 24em; overflow: auto; padding: 0.6em 0.8em; }
.SCOPE summary { color: #57606a; cursor: pointer; font-size: 0.87em; }
.SCOPE .residual { font-variant-numeric: tabular-nums; text-align: right; }
.SCOPE .residual small { color: #57606a; display: block; }
.SCOPE .holds::after { content: " \\2713"; color: #116329; }
.SCOPE .fails::after { content: " \\2717"; color: #b3261e; }
.SCOPE .fails { color: #b3261e; font-weight: bold; }
.SCOPE .text { grid-column: 1 / -1; margin: 0.5em 0 0; max-width: 60em; }
@media (max-width: 60em) {
  .SCOPE .step { grid-template-columns: minmax(0, 1fr); }
  .SCOPE .residual { text-align: left; }
}
"""

BODY = """<div class="{{ scope }}">
<style>{{ style|safe }}</style>
<h1>Derivation: {{ title }}</h1>
<p class="headline{{ '' if trusted else ' warning' }}">{{ headline }}</p>
{% for step in steps %}
<section class="step" id="{{ step.tag }}">
<div class="equation">
<h2><span class="tag">({{ step.tag }})</span>{{ step.title }}</h2>
{{ step.equation|safe }}
<p class="statement">{{ step.statement }}</p>
</div>
<div class="source">
<p class="where">{{ step.code.where }}</p>
{{ step.code.text|safe }}
{% if step.measured_by %}
<details>
<summary>how the residual is measured</summary>
<p class="where">{{ step.measured_by.where }}</p>
{{ step.measured_by.text|safe }}
</details>
{% endif %}
</div>
<div class="residual">
{% if step.residual %}
<span class="{{ step.state }}">{{ step.residual }}</span>
{% endif %}
{% if step.reason %}
<small>{{ step.reason }}</small>
{% endif %}
</div>
<p class="text">{{ step.text }}</p>
</section>
{% endfor %}
</div>
"""

DOCUMENT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""
