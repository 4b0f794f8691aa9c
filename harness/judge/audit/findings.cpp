// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/findings.hpp"

namespace plumbline::auditing {

std::string words_of(const Finding& finding) {
  std::string words = finding.file + ": ";
  words += finding.step < 0 ? "the start" : "step " + std::to_string(finding.step);
  if (finding.microbatch) words += ", microbatch " + std::to_string(*finding.microbatch);
  if (finding.rank) words += ", rank " + std::to_string(*finding.rank);
  return words + ", " + finding.item + ": " + finding.why + " (expected " + finding.expected + ", got " + finding.got +
         ")";
}

}  // namespace plumbline::auditing
