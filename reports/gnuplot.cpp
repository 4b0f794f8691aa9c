#include "reports/gnuplot.hpp"

#include "reports/child_process.hpp"
#include "reports/markup.hpp"

namespace plumbline {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string first_line(const std::string& text) {
  const auto start = text.find_first_not_of(" \n\t");
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

}  // namespace

std::optional<std::string> Gnuplot::draw(const std::string& script, int width, int height, const std::string& prefix,
                                         const std::string& title) {
  if (absent_) return std::nullopt;
  // `noenhanced`: an underscore in a name is an underscore. `-d`: the user's own start-up file does not change the
  // page.
  const std::string whole = "set terminal svg noenhanced size " + std::to_string(width) + "," + std::to_string(height) +
                            " font 'Helvetica,Arial,sans-serif,13'\nset encoding utf8\n" + script;
  const ChildResult result = run_child({program_, "-d"}, whole, std::chrono::seconds(60));
  std::optional<std::string> picture;
  if (result.started && result.in_time && result.exit_code == 0) picture = inline_svg(result.out, prefix, title);
  if (!result.started) absent_ = true;
  if (!picture && trouble_.empty()) {
    trouble_ = !result.started   ? program_ + " could not be started (" + result.error + ")"
               : !result.in_time ? program_ + " did not end within 60 s"
                                 : program_ + " could not draw: " + first_line(result.error);
  }
  return picture;
}

std::optional<std::string> inline_svg(const std::string& document, const std::string& prefix,
                                      const std::string& title) {
  const auto start = document.find("<svg");
  const auto end = document.rfind("</svg>");
  if (start == std::string::npos || end == std::string::npos || end < start) return std::nullopt;
  std::string svg = document.substr(start, end - start) + "</svg>";
  for (const std::string quote : {"'", "\""}) {
    replace_all(svg, " id=" + quote, " id=" + quote + prefix);
    replace_all(svg, "href=" + quote + "#", "href=" + quote + "#" + prefix);
    replace_all(svg, "url(" + quote + "#", "url(" + quote + "#" + prefix);
  }
  replace_all(svg, "url(#", "url(#" + prefix);
  svg.replace(0, 4, "<svg role=\"img\" aria-label=\"" + xml_escape(title) + "\"");
  const auto name = svg.find("<title>Gnuplot</title>");
  if (name != std::string::npos) svg.replace(name, 22, "<title>" + xml_escape(title) + "</title>");
  return svg;
}

}  // namespace plumbline
