#include "reports/plain_page.hpp"

#include "reports/markup.hpp"

namespace plumbline {
namespace {

constexpr const char* before_title = R"PAGE(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
)PAGE";

constexpr const char* after_title = R"PAGE(
<style>
:root { color-scheme: light dark; --ink: #1c2530; --soft: #5a6673; --line: #d5dbe1; --paper: #fff; --bad: #9c2f00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --soft: #a8b3be; --line: #3a444e; --paper: #14191e; --bad: #ff9d6e; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; color: var(--ink); background: var(--paper); }
main { max-width: 1080px; margin: 0 auto; padding: 20px 24px; }
h1 { font-size: 32px; margin: 0; } h2 { font-size: 21px; margin: 34px 0 8px; padding-top: 12px; border-top: 2px solid var(--ink); }
h3 { font-size: 16px; margin: 20px 0 4px; } p { max-width: 84ch; }
.soft { color: var(--soft); } .bad { border: 2px dashed var(--bad); padding: 8px 14px; } .kind { color: var(--bad); font-weight: 600; }
table { border-collapse: collapse; } th, td { text-align: left; padding: 4px 9px; border-bottom: 1px solid var(--line); vertical-align: top; font-size: 13px; }
td.num, th.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.table { overflow-x: auto; } .table tbody td:first-child { overflow-wrap: anywhere; } .changes td:last-child { min-width: 40ch; }
figure { margin: 6px 0; } figure svg { max-width: 100%; height: auto; }
summary { cursor: pointer; } code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
@media print { details > *:not(summary) { display: block; } h3, figure, table { break-inside: avoid; } }
</style>
</head>
<body>
<main>
)PAGE";

}  // namespace

std::string html_element(const std::string& name, const std::string& text, const std::string& attributes) {
  return "<" + name + attributes + ">" + xml_escape(text) + "</" + name + ">";
}

std::string plain_page(const std::string& title, const std::string& body) {
  return before_title + html_element("title", title) + after_title + body + "</main>\n</body>\n</html>\n";
}

}  // namespace plumbline
