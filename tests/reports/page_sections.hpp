// SPDX-License-Identifier: BSD-3-Clause
// The page of a verdict, and a part of its text.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "tests/markup_text.hpp"

namespace plumbline::testing {

/// With the sample's evidence of two steps.
std::string rendered_page(const Verdict& verdict);
/// What stands behind a fact's name in the first screen.
std::string fact_in(const std::string& page, const std::string& name);

}  // namespace plumbline::testing
