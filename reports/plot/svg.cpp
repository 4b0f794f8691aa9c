// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/svg.hpp"

#include <cstdio>
#include <initializer_list>
#include <utility>

#include "reports/markup.hpp"

namespace plumbline::plot {
namespace {

std::string element(std::string_view name, std::initializer_list<std::pair<const char*, double>> numbers,
                    std::string_view look) {
  std::string text = "<";
  text += name;
  for (const auto& [key, value] : numbers) {
    text += ' ';
    text += key;
    text += "=\"" + coordinate(value) + "\"";
  }
  return text.append(look);
}

}  // namespace

std::string coordinate(double value) {
  char digits[32];
  const int length = std::snprintf(digits, sizeof digits, "%.2f", value);
  std::string text(digits, static_cast<std::size_t>(length));
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string rectangle(double x, double y, double width, double height, std::string_view look) {
  return element("rect", {{"x", x}, {"y", y}, {"width", width}, {"height", height}}, look) + "/>\n";
}

std::string line(double x1, double y1, double x2, double y2, std::string_view look) {
  return element("line", {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}}, look) + "/>\n";
}

std::string path(std::string_view data, std::string_view look) {
  std::string text = "<path d=\"";
  text.append(data).append("\"").append(look);
  return text + "/>\n";
}

std::string label(double x, double y, std::string_view text, std::string_view look) {
  return element("text", {{"x", x}, {"y", y}}, look) + ">" + xml_escape(text) + "</text>\n";
}

std::string picture(double width, double height, std::string_view title, std::string_view body) {
  const std::string name = xml_escape(title);
  std::string text = element("svg", {{"width", width}, {"height", height}}, "");
  text += " viewBox=\"0 0 " + coordinate(width) + " " + coordinate(height) + "\" role=\"img\" aria-label=\"" + name;
  text += "\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\" ";
  text += "fill=\"currentColor\">\n<title>" + name + "</title>\n";
  return text.append(body) + "</svg>\n";
}

}  // namespace plumbline::plot
