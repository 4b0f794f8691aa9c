// variable_lengths: the microbatches really differ, so that the other checks could have seen a mix-up: lengths that
// grow, shrink, repeat and are 1, unequal numbers of valid tokens, one microbatch fully masked, no two alike, and
// losses that tell weighting apart.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/limits/within_limits.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// The loosest limit that any comparison of losses in this project has, relative: goldens on another CPU
/// (docs/exactness.md).
constexpr double loosest_limit = 2e-5;
/// "By far more than any limit": ten times the loosest, a calibration's own included.
double discriminator_floor_of(const CellEvidence& evidence) {
  return 10 * std::max(loosest_limit, evidence.limits ? evidence.limits->loosest_loss() : 0);
}

/// Relative distance of the mean of the microbatches' mean losses from the token-weighted loss of the step; nothing
/// without losses.
std::optional<double> discriminator(const RecordIndex& rows, std::int64_t step, std::int64_t microbatches) {
  double weighted = 0, means = 0;
  std::int64_t valid_of_step = 0, counted = 0;
  for (std::int64_t m = 0; m < microbatches; ++m) {
    const auto& found = rows.microbatches(step, m);
    if (!found.empty()) valid_of_step += found.front().row->valid_tokens;
  }
  for (std::int64_t m = 0; m < microbatches; ++m) {
    for (const auto& placed : rows.microbatches(step, m)) {
      if (!placed.row->loss || placed.row->valid_tokens == 0) continue;
      const double loss = static_cast<double>(*placed.row->loss);
      weighted += loss;
      means += loss * static_cast<double>(valid_of_step) / static_cast<double>(placed.row->valid_tokens);
      ++counted;
    }
  }
  if (counted == 0 || weighted == 0) return std::nullopt;
  return std::abs(means / static_cast<double>(counted) - weighted) / std::abs(weighted);
}

/// Within limits each microbatch's own loss is measured: the largest relative distance that a mean over its own valid
/// tokens and over the microbatches has from its share of the step's tokens. 0 without two unequal ones.
double discriminator_of_one(const RecordIndex& rows, std::int64_t step, std::int64_t microbatches) {
  std::vector<double> valid;
  double valid_of_step = 0;
  for (std::int64_t m = 0; m < microbatches; ++m) {
    const auto& found = rows.microbatches(step, m);
    if (found.empty() || found.front().row->valid_tokens == 0) continue;
    valid.push_back(static_cast<double>(found.front().row->valid_tokens));
    valid_of_step += valid.back();
  }
  double largest = 0;
  for (const double own : valid) {
    largest = std::max(largest, std::abs(valid_of_step / (own * static_cast<double>(valid.size())) - 1));
  }
  return largest;
}

/// What the microbatches of a step show; a run of them needs all of it.
std::vector<std::string> lacking(const RecordIndex& rows, std::int64_t step, std::int64_t microbatches) {
  std::set<std::int64_t> lengths, valid;
  bool grows = false, shrinks = false, repeats = false, masked = false;
  std::int64_t before = 0;
  for (std::int64_t m = 0; m < microbatches; ++m) {
    const auto& found = rows.microbatches(step, m);
    if (found.empty()) continue;
    const auto& row = *found.front().row;
    grows = grows || (m > 0 && row.sequence_length > before);
    shrinks = shrinks || (m > 0 && row.sequence_length < before);
    repeats = !lengths.insert(row.sequence_length).second || repeats;
    masked = masked || row.valid_tokens == 0;
    if (row.valid_tokens > 0) valid.insert(row.valid_tokens);
    before = row.sequence_length;
  }
  std::vector<std::string> missing;
  if (!grows) missing.push_back("no length grows");
  if (!shrinks) missing.push_back("no length shrinks");
  if (!repeats) missing.push_back("no length is repeated");
  if (!lengths.contains(1)) missing.push_back("none has length 1");
  if (!masked) missing.push_back("none is fully masked");
  if (valid.size() < 2) missing.push_back("all have equally many valid tokens");
  return missing;
}

void report(const Moment& moment, std::int64_t step, std::int64_t microbatch, const std::string& item,
            const std::string& expected, const std::string& got, const std::string& words, Judgement& judgement) {
  FirstDivergence divergence;
  divergence.step = step;
  divergence.microbatch = microbatch;
  divergence.item = item;
  divergence.expected = expected;
  divergence.got = got;
  divergence.words = words;
  judgement.diverge(moment, std::move(divergence));
}

/// Two equal microbatches of one step would hide a swap.
void demand_distinct(const CellEvidence& evidence, std::int64_t step, Judgement& judgement) {
  std::map<std::string, std::int64_t> seen;
  for (std::int64_t m = 0; m < evidence.microbatches(); ++m) {
    for (const auto& placed : evidence.reference_rows.microbatches(step, m)) {
      if (placed.row->data_digest.empty() || placed.row->valid_tokens == 0) continue;
      const auto [first, fresh] = seen.try_emplace(placed.row->data_digest, m);
      if (fresh) judgement.look_at("distinct_microbatches");
      if (fresh || first->second == m) continue;
      report(at_data(step, m), step, m, "data", "ids and labels of its own", placed.row->data_digest,
             "microbatches " + std::to_string(first->second) + " and " + std::to_string(m) + " of step " +
                 std::to_string(step) + " hold the same ids and labels: a swap of the two would be invisible",
             judgement);
    }
  }
}

/// What crossed a cut has the shape of its own microbatch, not of another's.
void demand_shapes(const CellEvidence& evidence, Judgement& judgement) {
  for (const auto& placed : evidence.candidate_rows.all_boundaries()) {
    const BoundaryRow& row = *placed.row;
    const auto& sizes = evidence.reference_rows.microbatches(row.step, row.microbatch);
    if (sizes.empty()) continue;
    judgement.look_at("boundary_shapes");
    const Shape expected = {sizes.front().row->batch, sizes.front().row->sequence_length, evidence.model.hidden};
    if (row.shape == expected) continue;
    const auto cut = evidence.model.unit_position(row.cut).value_or(0);
    const auto moment = row.direction == "backward" ? at_backward(row.step, row.microbatch, cut, 0)
                                                    : at_forward(row.step, row.microbatch, cut, 0);
    report(moment, row.step, row.microbatch, row.cut, shape_text(expected), shape_text(row.shape),
           row.direction + " boundary at " + row.cut + ", " + step_words(row.step, row.microbatch) + ", has shape " +
               shape_text(row.shape) + "; the microbatch makes it " + shape_text(expected),
           judgement);
  }
}

}  // namespace

Judged check_variable_lengths(const CellEvidence& evidence) {
  const double discriminator_floor = discriminator_floor_of(evidence);
  Judgement judgement("variable_lengths", "variable_lengths",
                      "mean of means and token-weighted loss at least " + to_text(discriminator_floor) +
                          " apart, relative: ten times the loosest limit of any loss comparison");
  double largest = 0;
  std::vector<std::string> missing;
  for (std::int64_t step = 0; step < evidence.steps(); ++step) {
    demand_distinct(evidence, step, judgement);
    const auto apart = discriminator(evidence.reference_rows, step, evidence.microbatches());
    if (apart) judgement.look_at("steps");
    largest = std::max(largest, apart.value_or(0));
    if (evidence.limits) {
      largest = std::max(largest, discriminator_of_one(evidence.reference_rows, step, evidence.microbatches()));
    }
    judgement.look_at("microbatches", evidence.microbatches());
    if (missing.empty()) missing = lacking(evidence.reference_rows, step, evidence.microbatches());
  }
  demand_shapes(evidence, judgement);
  judgement.measured(to_text(largest) + " apart in the step that tells most");
  if (!missing.empty()) {
    return judgement.conclude_as(Outcome::not_triggered,
                                 "the microbatches do not differ in every way that tells: " + join(missing, ", "));
  }
  if (!(largest >= discriminator_floor)) {
    return judgement.conclude_as(
        Outcome::not_triggered,
        "the data cannot tell token weighting from a mean of means: they lie " + to_text(largest) + " apart, relative");
  }
  judgement.margin(discriminator_floor / largest);
  return judgement.conclude(
      "lengths grow, shrink, repeat and are 1, and the losses tell token weighting from a mean of means",
      {{"steps", evidence.steps()}, {"distinct_microbatches", 2}});
}

}  // namespace plumbline::judging
