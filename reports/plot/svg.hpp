// SPDX-License-Identifier: BSD-3-Clause
// SVG elements as text. `look` is the rest of an element's attributes, as written in the
// text (" fill=\"none\""); coordinates are pixels, y downwards, written with at most two decimals.
#pragma once

#include <string>
#include <string_view>

namespace plumbline::plot {

std::string coordinate(double value);
/// Starts a line of a path. All lines of one look are one path, because a page has thousands of them.
std::string move_to(double x, double y);

std::string rectangle(double x, double y, double width, double height, std::string_view look);
std::string line(double x1, double y1, double x2, double y2, std::string_view look);
std::string path(std::string_view data, std::string_view look);
/// Escapes `text`.
std::string label(double x, double y, std::string_view text, std::string_view look = "");

/// The whole picture; `title` is for screen readers. Text and axes use the page's color.
std::string picture(double width, double height, std::string_view title, std::string_view body);

}  // namespace plumbline::plot
