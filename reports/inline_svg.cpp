#include "reports/inline_svg.hpp"

#include <array>

#include "reports/markup.hpp"

namespace plumbline {
namespace {

/// One pass: what `to` brings in is not searched again.
std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  std::size_t start = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, start)) {
    out.append(text, start, at - start).append(to);
    start = at + from.size();
  }
  return out.append(text, start);
}

/// gnuplot's indentation and line breaks stand between elements only.
std::string without_indentation(const std::string& svg) {
  std::string out;
  for (const char c : svg) {
    if (c == '\t') continue;
    if (c == '\n' && !out.empty() && out.back() == '>') continue;
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// `<g ...></g>`: left behind by each change of pen. Innermost first, so that a group of empty groups goes too.
std::string without_empty_groups(std::string svg) {
  for (bool found = true; found;) {
    found = false;
    std::string out;
    std::size_t start = 0;
    for (auto end = svg.find("></g>"); end != std::string::npos; end = svg.find("></g>", end + 1)) {
      const auto open = svg.rfind('<', end);
      if (open == std::string::npos || open < start || svg.compare(open, 3, "<g ") != 0) continue;
      out.append(svg, start, open - start);
      start = end + 5;
      found = true;
    }
    svg = out.append(svg, start);
  }
  return svg;
}

/// Attributes that every group repeats; children inherit them from the root.
constexpr std::array inherited{" stroke-linecap=\"butt\"", " stroke-linejoin=\"miter\"",
                               " font-family=\"Helvetica,Arial,sans-serif\"", " font-size=\"13.00\""};

std::string with_inherited(std::string svg, std::string& root) {
  for (const char* attribute : inherited) {
    svg = replaced(svg, attribute, "");
    root += attribute;
  }
  return svg;
}

std::string with_prefixed_ids(std::string svg, const std::string& prefix) {
  for (const std::string quote : {"'", "\""}) {
    svg = replaced(svg, " id=" + quote, " id=" + quote + prefix);
    svg = replaced(svg, "href=" + quote + "#", "href=" + quote + "#" + prefix);
    svg = replaced(svg, "url(" + quote + "#", "url(" + quote + "#" + prefix);
  }
  return replaced(svg, "url(#", "url(#" + prefix);
}

}  // namespace

std::optional<std::string> inline_svg(const std::string& document, const std::string& prefix,
                                      const std::string& title) {
  const auto start = document.find("<svg");
  const auto end = document.rfind("</svg>");
  if (start == std::string::npos || end == std::string::npos || end < start) return std::nullopt;
  std::string root = "<svg role=\"img\" aria-label=\"" + xml_escape(title) + "\"";
  std::string svg = without_indentation(document.substr(start + 4, end - start - 4));
  svg = with_prefixed_ids(with_inherited(without_empty_groups(std::move(svg)), root), prefix);
  svg = replaced(svg, "<title>Gnuplot</title>", "<title>" + xml_escape(title) + "</title>");
  return root + svg + "</svg>";
}

}  // namespace plumbline
