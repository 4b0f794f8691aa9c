// SPDX-License-Identifier: BSD-3-Clause
// What two baselines, held against each other, were found to differ in.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* baseline_comparison_schema = "plumbline-baseline-comparison/1";

/// Losses, norms and parameters; bytes of memory and traffic; cells and checks that were there and are not any more.
enum class ChangeKind { bits, bytes, coverage };
std::string to_text(ChangeKind kind);
/// Throws InputError that lists the kinds.
ChangeKind parse_change_kind(const std::string& text);

struct BaselineChange {
  ChangeKind kind;
  std::string where;  ///< id of the reference or cell
  std::string words;
};

/// One key of machine, versions or environment that is not the same: "versions/libtorch".
struct EnvironmentDifference {
  std::string key, before, now;
};

struct BaselineComparison {
  std::string name, sweep, commit_before, commit_now;
  std::vector<BaselineChange> changes;
  std::vector<EnvironmentDifference> environment;  ///< what a change of bits may come from, beside the source
  std::int64_t runs = 0, losses = 0, parameters = 0, byte_counts = 0;  ///< that were compared
  std::vector<std::string> not_compared;                               ///< what, and why
  std::vector<std::string> red;                                        ///< cells that do not hold now, and why
  std::set<ChangeKind> allowed;
  std::string reason;  ///< why those are allowed

  /// Nothing at all was compared.
  bool nothing() const { return losses + parameters + byte_counts == 0; }
  /// Nothing is red, and no change but of kinds that are allowed.
  bool holds() const;
};

Json to_json(const BaselineComparison& comparison);
std::string to_text(const BaselineComparison& comparison);

}  // namespace plumbline
