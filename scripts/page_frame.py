# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts' pages share: the style sheet of a sweep's report, a band with the verdict, a link back."""
import html
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent


def style():
    return re.search("<style>.*?</style>", (root / "reports/page.html").read_text(), re.DOTALL)[0]


def page(title, lead, facts, body, bad=False, back="", head=""):
    """A whole page. `facts`: pairs of texts; `body`: markup; `back`: the page that links here."""
    listed = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in facts)
    link = f'<nav class="contents"><a href="{html.escape(back)}">All pages</a></nav>' if back else ""
    return "\n".join([
        '<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">', head,
        f"<title>{html.escape(title)}</title>", style(), "</head>",
        f'<body><header class="band{" bad" if bad else ""}"><div><h1><span class="mark" aria-hidden="true">{"✗" if bad else "✓"}</span>{html.escape(title)}</h1>',
        f'<p class="lead">{html.escape(lead)}</p><dl class="facts">{listed}</dl></div></header>', f"<main>{link}", body, "</main></body></html>", ""])


def table(head, rows):
    """`rows`: lists of texts or of (text, class), which are escaped; digests of 32 digits are cut to 8."""
    def cell(content, name):
        text, css = content if isinstance(content, tuple) else (content, "")
        marked = f' class="{css}"' if css else ""
        return f'<td data-of="{html.escape(name)}"{marked}>{html.escape(re.sub("[0-9a-f]{32}", lambda digest: digest[0][:8], str(text)))}</td>'

    lines = ["<tr>" + "".join(map(cell, row, head)) + "</tr>" for row in rows]
    return '<div class="table"><table class="matrix"><thead><tr>' + "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head) + "</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
