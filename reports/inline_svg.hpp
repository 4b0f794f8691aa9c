// A picture as gnuplot writes it, made to stand inside a page beside others.
#pragma once

#include <optional>
#include <string>

namespace plumbline {

/// A whole SVG document -> one <svg> element: no XML prologue, every id and every reference to one prefixed, `title` as
/// its name for screen readers, and without the empty groups and repeated attributes that make up half of gnuplot's
/// text. Nothing when `document` holds no complete <svg>.
std::optional<std::string> inline_svg(const std::string& document, const std::string& prefix, const std::string& title);

}  // namespace plumbline
