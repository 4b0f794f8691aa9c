// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/value_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/judge/limits/limits.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

ComparedValue digests(const std::string& reference, const std::string& candidate) {
  if (candidate == reference) return {};
  return {ValueDifference{reference, candidate, "the bits differ"}};
}

class InBits : public ValueComparison {
 public:
  std::string demand() const override { return "0 ULP"; }
  std::string agreement() const override { return "the same bits"; }
  bool exact() const override { return true; }

  ComparedValue loss(const Item&, float reference, float candidate) override {
    if (same_bits(reference, candidate)) return {};
    return {ValueDifference{to_text(reference), to_text(candidate), ""}};
  }
  ComparedValue gradient_norm(std::int64_t, double reference, double candidate) override {
    if (same_bits(reference, candidate)) return {};
    return {ValueDifference{to_text(reference), to_text(candidate),
                            std::isfinite(candidate) ? "ratio " + to_text(candidate / reference) : "not finite"}};
  }
  ComparedValue tensor(std::int64_t, const TensorRow& reference, const TensorRow& candidate) override {
    return digests(reference.digest, candidate.digest);
  }
  ComparedValue boundary(std::int64_t, const BoundaryRow& reference, const BoundaryRow& candidate) override {
    return digests(reference.digest, candidate.digest);
  }
};

/// In float32 the drift is a rounding at first and may double with each step; 16-bit weights differ at once.
double limit_after(const std::string& dtype, std::int64_t steps) {
  if (steps >= WithinDrift::sizes_compared) return std::numeric_limits<double>::infinity();
  constexpr double widest = 0.15, of_first_step = 0.004;
  const bool wide = dtype == "float32" || dtype == "float64";
  return wide ? std::min(widest, std::ldexp(of_first_step, static_cast<int>(steps))) : widest;
}

/// `size`: that the difference is relative to, if it is larger than the values. NaN does not hold.
ComparedValue compared(const std::string& what, double limit, double reference, double candidate, double size = 0) {
  const double allowed = limit * std::max({size, std::abs(reference), std::abs(candidate)});
  if (candidate == reference || std::abs(candidate - reference) <= allowed) return {};
  return {ValueDifference{fmt::format("{}{} within {}", what, short_text(reference), short_text(allowed)),
                          what + short_text(candidate),
                          "more than clip coefficients that differ as roundings do explain"}};
}

}  // namespace

double Measured::margin() const {
  if (limit > 0 || std::isnan(error)) return error / limit;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

std::string Measured::words() const {
  return fmt::format("{} is {} off, margin {} of its limit {}", item, short_text(error), short_text(margin()),
                     limit_words);
}

ValueComparison& in_bits() {
  static InBits comparison;
  return comparison;
}

WithinDrift::WithinDrift(const std::string& dtype, std::int64_t steps, const std::vector<RankRecord>& reference)
    : limit_(limit_after(dtype, steps)) {
  std::map<std::string, std::pair<double, double>> sums;  // squares, elements
  for (const RankRecord& rank : reference) {
    for (const TensorRow& row : rank.tensors) {
      auto& [squares, elements] = sums[row.kind];
      squares += row.l2 * row.l2;
      elements += static_cast<double>(element_count(row.shape));
    }
  }
  for (const auto& [kind, sum] : sums) rms_[kind] = std::sqrt(sum.first / std::max(sum.second, 1.0));
}

ComparedValue WithinDrift::loss(const Item&, float reference, float candidate) {
  return compared("", limit_ / 2, static_cast<double>(reference), static_cast<double>(candidate));
}

ComparedValue WithinDrift::gradient_norm(std::int64_t, double reference, double candidate) {
  return compared("", limit_, reference, candidate);
}

ComparedValue WithinDrift::tensor(std::int64_t, const TensorRow& reference, const TensorRow& candidate) {
  const std::string& kind = reference.kind;
  const double limit = kind == "gradient" || kind == "moment1" ? limit_ : kind == "moment2" ? 2 * limit_ : limit_ / 2;
  // Of a small tensor (a bias that began at zero) the drift is as large as that of other tensors' elements.
  const double size = rms_[kind] * std::sqrt(static_cast<double>(element_count(reference.shape)));
  return compared("l2 ", limit, reference.l2, candidate.l2, size);
}

}  // namespace plumbline::judging
