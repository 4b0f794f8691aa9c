// SPDX-License-Identifier: BSD-3-Clause
// Comparison of values behind clip coefficients that differ as roundings do: equal trainings drift apart from there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/judge/limits/value_comparison.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Losses, norms and the l2 of tensors of one step must agree within a few percent (docs/exactness.md). The limits are
/// three times what benchmarks/behind_norm.py measures in `sizes_compared` steps; later steps may have any size.
class WithinDrift : public ValueComparison {
 public:
  static constexpr std::int64_t sizes_compared = 10;

  /// `steps`: since the one whose coefficients differ first, which is 0. `reference`: its rows of this step.
  WithinDrift(const std::string& dtype, std::int64_t steps, const std::vector<RankRecord>& reference);

  std::string demand() const override { return "within the drift of differing clip coefficients"; }
  std::string agreement() const override { return "close"; }
  bool exact() const override { return false; }
  ComparedValue loss(const Item& item, float reference, float candidate) override;
  ComparedValue gradient_norm(std::int64_t step, double reference, double candidate) override;
  ComparedValue tensor(std::int64_t rank, const TensorRow& reference, const TensorRow& candidate) override;
  /// Its rows state no size.
  ComparedValue boundary(std::int64_t, const BoundaryRow&, const BoundaryRow&) override { return {}; }

 private:
  double limit_;                       ///< relative, of gradients and first moments
  std::map<std::string, double> rms_;  ///< by kind: root of the mean square over the elements of all tensors
};

}  // namespace plumbline::judging
