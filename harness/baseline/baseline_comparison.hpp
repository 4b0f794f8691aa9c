// SPDX-License-Identifier: BSD-3-Clause
// Differences between two baselines.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "harness/baseline/baseline.hpp"
#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* baseline_comparison_schema = "plumbline-baseline-comparison/1";

/// Kinds of changes: losses, norms and parameters; bytes of memory and traffic; removed cases and checks.
enum class ChangeKind { bits, bytes, coverage };
std::string to_text(ChangeKind kind);
/// Throws InputError listing the kinds.
ChangeKind parse_change_kind(const std::string& text);

struct BaselineChange {
  ChangeKind kind;
  std::string where;  ///< id of the reference or case
  std::string words;
};

/// A differing key of machine, versions or environment: "versions/libtorch".
struct EnvironmentDifference {
  std::string key, before, now;
};

struct BaselineComparison {
  std::string name, sweep, commit_before, commit_now;
  std::vector<BaselineChange> changes;
  std::vector<EnvironmentDifference> environment;  ///< possible causes of changed bits besides the source
  std::int64_t runs = 0, losses = 0, parameters = 0, byte_counts = 0;  ///< numbers of compared items
  std::vector<std::string> not_compared;                               ///< what, and why
  std::vector<std::string> red;                                        ///< cases that do not hold now, and why
  std::set<ChangeKind> allowed;
  std::string reason;  ///< why the changes are allowed

  /// True if nothing was compared.
  bool nothing() const { return losses + parameters + byte_counts == 0; }
  /// True if nothing fails and all changes are of allowed kinds.
  bool holds() const;
};

Json to_json(const BaselineComparison& comparison);
std::string to_text(const BaselineComparison& comparison);

/// Compares bits if both have the same code path and request, and bytes if they have the same request.
BaselineComparison compare_baselines(const Baseline& before, const Baseline& now);

}  // namespace plumbline
