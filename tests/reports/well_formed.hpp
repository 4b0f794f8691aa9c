// SPDX-License-Identifier: BSD-3-Clause
// Checks that tags nest, attributes are quoted and entities are known. This catches a forgotten escape.
#pragma once

#include <string>
#include <vector>

namespace plumbline::testing {

struct Markup {
  std::string error;                    ///< empty when well-formed
  std::vector<std::string> ids;         ///< values of id attributes, in order
  std::vector<std::string> references;  ///< what href and xlink:href point to
  std::vector<std::string> elements;    ///< names of start tags, in order
};

/// `html`: `<meta>` and `<br>` need no end tag, and the content of `<style>` is skipped.
Markup parse_markup(const std::string& text, bool html);

}  // namespace plumbline::testing
