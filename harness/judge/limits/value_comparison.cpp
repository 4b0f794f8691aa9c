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

}  // namespace plumbline::judging
