// SPDX-License-Identifier: BSD-3-Clause
// SVG as text: the elements that plots are made of. `look` is the rest of an element's attributes, as they stand in the
// text (" fill=\"none\""); coordinates are pixels, y downwards, and are written with a hundredth at most.
#pragma once

#include <string>
#include <string_view>

namespace plumbline::plot {

std::string coordinate(double value);

std::string rectangle(double x, double y, double width, double height, std::string_view look);
std::string line(double x1, double y1, double x2, double y2, std::string_view look);
std::string path(std::string_view data, std::string_view look);
/// `text` may be anybody's: it is escaped.
std::string label(double x, double y, std::string_view text, std::string_view look = "");

/// The whole picture, which `title` names for screen readers. Text and axes take the page's own colour.
std::string picture(double width, double height, std::string_view title, std::string_view body);

}  // namespace plumbline::plot
