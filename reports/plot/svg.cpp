// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/svg.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "reports/markup.hpp"

namespace plumbline::plot {
namespace {

std::string element(std::string_view name, std::initializer_list<std::pair<const char*, double>> numbers,
                    std::string_view look) {
  std::string text = fmt::format("<{}", name);
  for (const auto& [key, value] : numbers) text += fmt::format(" {}=\"{}\"", key, coordinate(value));
  return text.append(look);
}

}  // namespace

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string move_to(double x, double y) {
  return "M" + coordinate(x) + " " + coordinate(y);
}

std::string rectangle(double x, double y, double width, double height, std::string_view look) {
  return element("rect", {{"x", x}, {"y", y}, {"width", width}, {"height", height}}, look) + "/>\n";
}

std::string line(double x1, double y1, double x2, double y2, std::string_view look) {
  return element("line", {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}}, look) + "/>\n";
}

std::string path(std::string_view data, std::string_view look) {
  return fmt::format("<path d=\"{}\"{}/>\n", data, look);
}

std::string label(double x, double y, std::string_view text, std::string_view look) {
  return fmt::format("{}>{}</text>\n", element("text", {{"x", x}, {"y", y}}, look), xml_escape(text));
}

std::string picture(double width, double height, std::string_view title, std::string_view body) {
  const std::string name = xml_escape(title);
  return fmt::format(
      "{0} viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{3}\" xmlns=\"http://www.w3.org/2000/svg\" "
      "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<title>{3}</title>\n"
      "{4}</svg>\n",
      element("svg", {{"width", width}, {"height", height}}, ""), coordinate(width), coordinate(height), name, body);
}

}  // namespace plumbline::plot
