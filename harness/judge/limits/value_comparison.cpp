// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/value_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/judge/limits/errors.hpp"
#include "harness/judge/limits/limits.hpp"
#include "record/digest.hpp"
#include "record/rank_folder.hpp"
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

namespace {

ComparedValue outcome(Measured measured, const std::string& got) {
  ComparedValue compared;
  if (!measured.holds()) {
    compared.difference =
        ValueDifference{fmt::format("at most {} off the float64 reference", short_text(measured.limit)), got,
                        "outside its limit, margin " + short_text(measured.margin())};
  }
  compared.measured = std::move(measured);
  return compared;
}

/// The difference of a tensor, which does not have a single value to show.
ComparedValue outcome(const Measured& measured) {
  return outcome(measured, short_text(measured.error));
}

}  // namespace

ComparedValue WithinLimits::tensor(std::int64_t rank, const TensorRow&, const TensorRow& candidate) {
  const std::string key = fmt::format("{}/{}", candidate.kind, candidate.name);
  return outcome(compare(rank, candidate.step, key, key, key, candidate.digest));
}

ComparedValue WithinLimits::boundary(std::int64_t rank, const BoundaryRow&, const BoundaryRow& candidate) {
  const std::string item = boundary_item(candidate.direction, candidate.microbatch, candidate.cut);
  return outcome(compare(rank, candidate.step, item, fmt::format("{}/{}", item, candidate.side), item + "/computed",
                         candidate.digest));
}

ComparedValue WithinLimits::loss(const Item& item, float, float candidate) {
  return compare(item, static_cast<double>(candidate), to_text(candidate));
}

ComparedValue WithinLimits::gradient_norm(std::int64_t step, double, double candidate) {
  return compare({step, "gradient_norm"}, candidate, to_text(candidate));
}

ComparedValue WithinLimits::compare(const Item& item, double candidate, const std::string& got) {
  if (scalars_.empty()) scalars_ = scalars_of(shadow_.ranks.at(0));
  const auto truth = scalars_.find(item);
  if (truth == scalars_.end())
    throw CalibrationError(fmt::format("{}: lacks {} at step {}", shadow_.path.string(), item.name, item.step));
  return outcome(measured(item, relative_error(candidate, truth->second)), got);
}

std::string WithinLimits::demand() const {
  return fmt::format(
      "calibrated: relative error against the float64 reference, at most {} x the largest of the reference and {} "
      "perturbed references, never above {}",
      short_text(calibration_.factor), calibration_.null_runs, short_text(limit_ceiling));
}

double loosest_loss(const Calibration& calibration) {
  double loosest = 0;
  for (const auto& [item, limit] : calibration.limits) {
    if (item.name == "loss" || item.name.starts_with("loss/")) loosest = std::max(loosest, limit.limit);
  }
  return loosest;
}

const SafetensorsFile& WithinLimits::dump(const Record& record, std::int64_t rank, std::int64_t step) {
  const auto path = record.path / rank_folder(rank) / "dumps" / dump_file_name(step);
  const std::pair key{path, step};
  const auto found = dumps_.find(key);
  return found != dumps_.end() ? found->second : dumps_.emplace(key, SafetensorsFile(path)).first->second;
}

const SafetensorsEntry& WithinLimits::truth(std::int64_t step, const std::string& key) try {
  const SafetensorsEntry& entry = dump(shadow_, 0, step).at(key);
  const std::string digest = tensor_digest(entry.dtype, entry.shape, entry.bytes);
  const RankRecord& rows = shadow_.ranks.at(0);
  const bool known =
      std::ranges::any_of(rows.tensors,
                          [&](const TensorRow& row) {
                            return row.digest == digest && row.step == step && row.kind + "/" + row.name == key;
                          }) ||
      std::ranges::any_of(rows.boundaries, [&](const BoundaryRow& row) {
        return row.digest == digest && row.step == step &&
               boundary_item(row.direction, row.microbatch, row.cut) + "/" + row.side == key;
      });
  if (known) return entry;
  throw InputError(
      fmt::format("{}: the dump of {} at step {} is not the tensor of its table", shadow_.path.string(), key, step));
} catch (const InputError& error) {
  throw CalibrationError(error.what());
}

Measured WithinLimits::compare(std::int64_t rank, std::int64_t step, const std::string& item, const std::string& key,
                               const std::string& shadow_key, const std::string& digest) {
  const SafetensorsEntry& got = dump(candidate_, rank, step).at(key);
  if (tensor_digest(got.dtype, got.shape, got.bytes) != digest) {
    throw RunError(fmt::format(
        "the candidate's dump of {} at step {} on rank {} is not the tensor of its table: the digests differ", key,
        step, rank));
  }
  return measured({step, item}, relative_error(got, truth(step, shadow_key)));
}

Measured WithinLimits::measured(const Item& item, double error) const {
  const std::string name = fmt::format("{} at step {}", item.name, item.step);
  const auto found = calibration_.limits.find(item);
  if (found == calibration_.limits.end()) throw RunError("the calibration lacks a limit for " + name);
  return {name, error, found->second.limit, plumbline::judging::limit_words(calibration_, found->second)};
}

}  // namespace plumbline::judging
