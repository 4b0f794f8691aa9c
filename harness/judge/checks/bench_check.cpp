// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// The loosest relative limit of any comparison of losses in this project: golden files on another CPU
/// (docs/exactness.md).
constexpr double loosest_limit = 2e-5;

double relative_distance(double value, double from) {
  return from == 0 ? 0 : std::abs(value - from) / std::abs(from);
}

/// "By far more than any limit" means ten times the loosest.
double least_distance(const BenchRequest& request) {
  return 10 * std::max(loosest_limit, request.loosest_loss.value_or(0));
}

class DataCoverage {
 public:
  DataCoverage(const Record& reference, const BenchRequest& request, CheckResultBuilder& builder)
      : reference_(reference), manifest_(reference.manifest), request_(request), builder_(builder) {}

  /// `rows`: the reference's.
  void step(std::int64_t step, RecordIndex rows) {
    std::swap(rows_, rows);
    const RecordIndex& before = rows;
    if (step < 0 || step >= manifest_.steps) return;
    moves_ = moves_ || moved_since(before);
    builder_.inspect("microbatches", manifest_.microbatches);
    largest_distance_ = std::max(largest_distance_, weighting_distance());
    if (!of_step_.empty()) return;
    find_equal_microbatches(step, of_step_);
    if (sizes_required()) inspect_sizes(of_step_);
  }

  /// The missing properties of the training; empty if there are none.
  std::vector<std::string> lacking() {
    std::vector<std::string> missing;
    if (reference_.steps() < 2)
      missing.push_back("the run has only one step, so state kept or lost between steps is not covered");
    missing.insert(missing.end(), of_step_.begin(), of_step_.end());
    if (sizes_required()) demand_weighting(largest_distance_, missing);
    if (manifest_.level < RecordLevel::full) {
      builder_.leave_out("whether parameters change (the record has no tensors)");
    } else if (!moves_) {
      missing.push_back("no parameter changes, so a wrong update would go undetected");
    }
    return missing;
  }

  bool sizes_required() const { return !request_.equal_lengths && manifest_.microbatches > 1; }

 private:
  void demand_weighting(double apart, std::vector<std::string>& missing) {
    const double least = least_distance(request_);
    builder_.measured(to_text(apart) + " relative difference in the most sensitive step");
    if (apart >= least) return builder_.margin(least / apart);
    missing.push_back(
        fmt::format("losses cannot distinguish token weighting from a mean of means: they differ by {} (relative), but "
                    "should differ by {}",
                    to_text(apart), to_text(least)));
  }

  /// Two equal microbatches of one step would hide that they were swapped.
  void find_equal_microbatches(std::int64_t step, std::vector<std::string>& missing) {
    std::map<std::string, std::int64_t> seen;
    for (std::int64_t m = 0; m < manifest_.microbatches; ++m) {
      for (const auto& placed : rows_.microbatches(m)) {
        if (placed.row->data_digest.empty() || placed.row->valid_tokens == 0) continue;
        const auto [first, fresh] = seen.try_emplace(placed.row->data_digest, m);
        if (fresh) builder_.inspect("distinct_microbatches");
        if (fresh || first->second == m) continue;
        missing.push_back(fmt::format(
            "microbatches {} and {} of step {} have the same ids and labels, so swapping them would go undetected",
            first->second, m, step));
        return;
      }
    }
  }

  void inspect_sizes(std::vector<std::string>& missing) const {
    std::set<std::int64_t> lengths, valid;
    bool grows = false, shrinks = false, repeats = false, masked = false;
    const MicrobatchRow* before = nullptr;
    for (std::int64_t m = 0; m < manifest_.microbatches; ++m) {
      const MicrobatchRow* now = rows_.microbatch(m);
      if (!now) continue;
      grows = grows || (before && now->sequence_length > before->sequence_length);
      shrinks = shrinks || (before && now->sequence_length < before->sequence_length);
      repeats = !lengths.insert(now->sequence_length).second || repeats;
      masked = masked || now->valid_tokens == 0;
      if (now->valid_tokens > 0) valid.insert(now->valid_tokens);
      before = now;
    }
    const auto demand = [&](bool there, const char* what) {
      if (!there) missing.emplace_back(what);
    };
    demand(grows, "no microbatch is longer than the one before");
    demand(shrinks, "no microbatch is shorter than the one before");
    demand(repeats, "no two microbatches have the same length");
    demand(lengths.contains(1), "no microbatch has length 1");
    demand(masked, "no microbatch is fully masked");
    demand(valid.size() >= 2, "all microbatches have the same number of valid tokens");
  }

  /// Relative distance of the mean of the microbatches' mean losses from the token-weighted loss of the step. In the
  /// mode calibrated each microbatch's loss is measured, too: then also the largest distance between a mean over its
  /// own tokens and its share of the step's.
  double weighting_distance() {
    double weighted = 0, means = 0, valid_of_step = 0, counted = 0, with_tokens = 0;
    for (std::int64_t m = 0; m < manifest_.microbatches; ++m) {
      const MicrobatchRow* found = rows_.microbatch(m);
      if (!found) continue;
      valid_of_step += static_cast<double>(found->valid_tokens);
      if (found->valid_tokens > 0) ++with_tokens;
    }
    double of_one = 0;
    for (std::int64_t m = 0; m < manifest_.microbatches; ++m) {
      for (const auto& placed : rows_.microbatches(m)) {
        if (!placed.row->loss || placed.row->valid_tokens == 0) continue;
        const double loss = static_cast<double>(*placed.row->loss);
        const double share = valid_of_step / static_cast<double>(placed.row->valid_tokens);
        weighted += loss;
        means += loss * share;
        ++counted;
        of_one = std::max(of_one, std::abs(share / with_tokens - 1));
      }
    }
    if (counted == 0) return 0;
    builder_.inspect("steps");
    const double of_step = relative_distance(means / counted, weighted);
    return request_.loosest_loss ? std::max(of_step, of_one) : of_step;
  }

  bool moved_since(const RecordIndex& rows_before) const {
    for (const auto& placed : rows_.all_tensors()) {
      if (placed.row->kind != "parameter") continue;
      const auto& before = rows_before.tensors("parameter", placed.row->name);
      if (!before.empty() && before.front().row->digest != placed.row->digest) return true;
    }
    return false;
  }

  const Record& reference_;
  const Manifest& manifest_;
  RecordIndex rows_;  ///< of the current step
  const BenchRequest& request_;
  CheckResultBuilder& builder_;
  bool moves_ = false;
  double largest_distance_ = 0;       ///< the largest over all steps
  std::vector<std::string> of_step_;  ///< of the first step with missing properties; later steps usually miss the same
};

CheckResult bench_of(RecordReading& reference, const BenchRequest& request) {
  CheckResultBuilder builder(
      "bench", "bench",
      fmt::format("two steps that change parameters, no two equal microbatches, sizes that differ in "
                  "every way, and losses that distinguish token weighting from a mean of means by {}: "
                  "ten times the loosest limit of any comparison of losses",
                  to_text(least_distance(request))));
  if (!reference.record()) return without_looking("bench", Outcome::incomplete, reference.error()).result;
  if (reference.record()->manifest.level == RecordLevel::none)
    return without_looking("bench", Outcome::incomplete, "a record of level none has no data").result;
  DataCoverage bench(*reference.record(), request, builder);
  for (std::optional<std::int64_t> step = -1; step; step = reference.next_step()) {
    reference.go_to(*step);
    if (reference.record()) bench.step(*step, RecordIndex(reference.record()->ranks));
  }
  if (!reference.record()) return without_looking("bench", Outcome::incomplete, reference.error()).result;
  const auto missing = bench.lacking();
  const std::string words =
      !missing.empty() ? "this data cannot expose every bug: " + join(missing, "; ")
      : bench.sizes_required()
          ? "lengths grow, shrink, repeat and are 1, a microbatch is masked, no two are equal, losses distinguish "
            "token weighting from a mean of means, and parameters change"
          : "no two microbatches are equal, and steps change parameters; microbatches were not required to differ in "
            "size";
  return builder.conclude_as(missing.empty() ? Outcome::holds : Outcome::incomplete, words).result;
}

}  // namespace

CheckResult check_bench(RecordReading reference, const BenchRequest& request) {
  CheckResult result;
  try {
    result = bench_of(reference, request);
  } catch (const std::exception& error) {  // a record with impossible values
    result = without_looking("bench", Outcome::incomplete, error.what()).result;
  }
  result.required = request.required;
  return result;
}

}  // namespace plumbline::judging
