// SPDX-License-Identifier: BSD-3-Clause
// Whether a text's tags nest, its attributes are quoted and its entities known: enough to catch what an escape
// forgotten would break.
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

/// `html`: `<meta>` and `<br>` need no end and `<style>` is not looked into.
Markup parse_markup(const std::string& text, bool html);

}  // namespace plumbline::testing
