// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/list_finding.hpp"

#include <fmt/format.h>

#include <array>

namespace plumbline {

std::string_view name(Rule rule) {
  constexpr std::array<std::string_view, 13> names = {
      "size",    "range",         "rank",     "kind",  "duplicate",    "missing", "order",
      "message", "channel-order", "deadlock", "slots", "accumulation", "ending"};
  return names.at(static_cast<std::size_t>(rule));
}

std::string to_text(const ListFinding& finding) {
  return fmt::format("rank {}, position {}, {}: {}", finding.rank, finding.position, to_text(finding.action),
                     finding.text);
}

}  // namespace plumbline
