// How many roundings lie before a value of a training run: what the a-priori cap of its error grows with.
#pragma once

#include <cstdint>
#include <string>

#include "harness/judge/expected/expected_model.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Unit roundoff of a dtype, 2^-p with p its significand's bits: the largest relative error of one rounding. Throws
/// InputError for a dtype that no run is in.
double unit_roundoff(const std::string& dtype);

/// Roundings that follow from one another, and terms of the sums among them.
struct Chain {
  double roundings = 0;
  double terms = 0;
  Chain& operator+=(const Chain& other);
  friend Chain operator+(Chain one, const Chain& other) { return one += other; }
  friend Chain operator*(double times, const Chain& chain) { return {times * chain.roundings, times * chain.terms}; }
};

/// Chains of one training run, counted from the model's sizes and the lengths of its microbatches along the longest way
/// to a value. A unit's backward pass counts as two of its forward pass; every step adds its own to those before it.
class RoundingChains {
 public:
  /// `run`: any record of the run; rank 0's microbatches.csv says how long they are. Points into nothing.
  explicit RoundingChains(const Record& run);

  Chain forward(std::int64_t step, std::int64_t microbatch, const std::string& cut) const;
  Chain backward(std::int64_t step, std::int64_t microbatch, const std::string& cut) const;
  Chain loss(std::int64_t step) const;
  /// Of a parameter of this unit.
  Chain gradient(std::int64_t step, const std::string& unit) const;
  /// Parameters, moments: all that has been through the optimiser in this step.
  Chain updated(std::int64_t step) const;

  const ExpectedModel& model() const { return model_; }
  /// Equivalent number of roundings to `dtype`: inside a sum of bfloat16 terms it is rounded to float32, which is
  /// (2^-24 / 2^-8)^2 of a rounding as variances add.
  static double equivalent(const Chain& chain, const std::string& dtype);

 private:
  struct Sizes {
    std::int64_t length = 0, tokens = 0;
  };
  Chain unit(std::size_t number, const Sizes& sizes) const;
  Chain forward_to(std::size_t unit_number, const Sizes& sizes) const;
  Chain backward_to(std::size_t unit_number, const Sizes& sizes) const;
  Chain start(std::int64_t step) const { return updated(step - 1); }
  const Sizes& sizes(std::int64_t microbatch) const;

  ExpectedModel model_;
  std::vector<Sizes> microbatches_;
  Sizes longest_;
  double tokens_of_step_ = 0;
};

/// min(lambda sqrt(n) u, ceiling). The error of a sum of n rounded terms grows with sqrt(n) u as its roundings are
/// independent and centred, and lambda u sqrt(n) bounds it with probability 1 - 2 exp(-lambda^2 / 2) (Higham and Mary,
/// "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41, 2019). With lambda = 8 that is
/// one sum in 4e13. Never above one half, half of what a tensor is off that is zero where it should not be: a limit
/// near 1 could not fail.
inline constexpr double cap_lambda = 8;
inline constexpr double cap_ceiling = 0.5;
double rounding_cap(double equivalent_roundings, const std::string& dtype);

}  // namespace plumbline::judging
