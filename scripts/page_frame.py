# SPDX-License-Identifier: BSD-3-Clause
"""What the pages of the scripts have in common: the style sheet of a sweep's report, a band with the verdict, a way back."""
import html
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent


def style():
    return re.search("<style>.*?</style>", (root / "reports/page.html").read_text(), re.DOTALL)[0]


def page(title, lead, facts, body, bad=False, back="", head=""):
    """A whole page. `facts`: pairs of texts; `body`: markup; `back`: the page that leads here."""
    listed = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in facts)
    link = f'<nav class="contents"><a href="{html.escape(back)}">All pages</a></nav>' if back else ""
    return "\n".join([
        '<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">', head,
        f"<title>{html.escape(title)}</title>", style(), "</head>",
        f'<body><header class="band{" bad" if bad else ""}"><div><h1><span class="mark" aria-hidden="true">{"✗" if bad else "✓"}</span>{html.escape(title)}</h1>',
        f'<p class="lead">{html.escape(lead)}</p><dl class="facts">{listed}</dl></div></header>', f"<main>{link}", body, "</main></body></html>", ""])


def table(head, rows):
    """`rows`: lists of texts, or of (text, class); escaped."""
    def cell(content, name="td"):
        text, css = content if isinstance(content, tuple) else (content, "")
        return f"<{name}{f' class={chr(34)}{css}{chr(34)}' if css else ''}>{html.escape(str(text))}</{name}>"

    lines = ["<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows]
    return '<div class="table"><table class="matrix"><thead><tr>' + "".join(cell(name, "th") for name in head) + "</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
