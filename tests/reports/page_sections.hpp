// SPDX-License-Identifier: BSD-3-Clause
// The page of a verdict, and a part of its text.
#pragma once

#include <string>

#include "reports/page.hpp"
#include "tests/markup_text.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline::testing {

/// Renders with the sample's evidence of two steps.
inline std::string rendered_page(const Verdict& verdict) {
  return make_page(verdict, sample_evidence(verdict, 2));
}

}  // namespace plumbline::testing
