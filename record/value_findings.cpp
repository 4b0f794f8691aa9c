// SPDX-License-Identifier: BSD-3-Clause
#include "record/value_findings.hpp"

#include <fmt/format.h>

#include "support/text.hpp"

namespace plumbline {

std::string to_text(const ValueFindings& findings) {
  if (findings.fault_signatures.empty()) return findings.otherwise;
  std::vector<std::string> parts;
  for (const FaultSignature& found : findings.fault_signatures)
    parts.push_back(fmt::format("{} ({}): {}", found.words, found.evidence, found.suggests));
  return join(parts, "; or: ");
}

}  // namespace plumbline
