// SPDX-License-Identifier: BSD-3-Clause
#include "tests/reports/page_sections.hpp"

#include "reports/page.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline::testing {

std::string rendered_page(const Verdict& verdict) {
  return make_page(verdict, sample_evidence(verdict, 2));
}

std::string fact_in(const std::string& page, const std::string& name) {
  const std::string before = "<dt>" + name + "</dt><dd>";
  return section_of(page, before, "</dd>").substr(before.size());
}

}  // namespace plumbline::testing
