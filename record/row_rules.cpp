// SPDX-License-Identifier: BSD-3-Clause
#include "record/row_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "record/columns.hpp"
#include "support/elements.hpp"

namespace plumbline {
namespace {

std::optional<std::int64_t> product(std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  if (left < 0 || right < 0 || __builtin_mul_overflow(left, right, &result) || result > largest_count)
    return std::nullopt;
  return result;
}

/// Collects the first error of a row.
class Rules {
 public:
  void demand(bool good, const char* column, const char* why) {
    if (!good && !bad_) bad_ = BadCell{column, why};
  }
  void below(std::int64_t value, std::int64_t end, const char* column, const char* what, std::int64_t first = 0) {
    if (value < end || bad_) return;
    bad_ = BadCell{column,
                   fmt::format("is not a {} of this run, which by manifest.json has {} to {}", what, first, end - 1)};
  }
  void stage(std::int64_t value, const Manifest& manifest, std::int64_t rank) {
    const bool there = value >= 0 && value < std::ssize(manifest.stages);
    if (bad_ || (there && manifest.stages[static_cast<std::size_t>(value)].rank == rank)) return;
    bad_ = BadCell{"stage", fmt::format("is not a stage that manifest.json places on rank {}", rank)};
  }
  void step(std::int64_t value, const Manifest& manifest) {
    const bool before = value >= 0 && value < manifest.first_step;
    below(before ? manifest.steps : value, manifest.steps, "step", "step", manifest.first_step);
  }
  void microbatch(std::int64_t value, const Manifest& manifest) {
    below(value, manifest.microbatches, "microbatch", "microbatch");
  }
  void at_most(const std::optional<std::int64_t>& value, const std::optional<std::int64_t>& limit, const char* column,
               const char* what) {
    if (!value || !limit || *value <= *limit || bad_) return;
    bad_ = BadCell{column, fmt::format("is more than {}, {}", what, *limit)};
  }
  const std::optional<BadCell>& bad() const { return bad_; }

 private:
  std::optional<BadCell> bad_;
};

}  // namespace

std::optional<std::int64_t> size_of(const Shape& shape) {
  std::optional<std::int64_t> size = 1;
  for (const std::int64_t extent : shape)
    if (size) size = product(*size, extent);
  return size;
}

std::optional<BadCell> bad_cell(const StepRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.at_most(row.valid_tokens, row.tokens, "valid_tokens", "the step's tokens");
  rules.at_most(row.live_tokens, row.tokens, "live_tokens", "the step's tokens");
  if (row.seconds)
    rules.demand(std::isfinite(*row.seconds) && *row.seconds >= 0, "seconds", "is not a finite number from 0 on");
  if (row.recording_seconds) {
    const double recording = *row.recording_seconds;
    rules.demand(std::isfinite(recording) && recording >= 0, "recording_seconds", "is not a finite number from 0 on");
    rules.demand(!row.seconds || recording <= *row.seconds, "recording_seconds", "is more than the step's seconds");
  }
  return rules.bad();
}

std::optional<BadCell> bad_cell(const NormRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step / manifest.every, manifest);
  return rules.bad();
}

std::optional<BadCell> bad_cell(const MicrobatchRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.microbatch(row.microbatch, manifest);
  rules.demand(row.sequence_length >= 1, "sequence_length", "is not at least 1");
  rules.demand(row.batch >= 1, "batch", "is not at least 1");
  const auto positions = product(row.batch, row.sequence_length);
  rules.demand(positions.has_value(), "batch", "makes more than 2^56 positions with its sequence_length");
  rules.at_most(row.tokens, positions, "tokens", "batch x sequence_length");
  rules.at_most(row.valid_tokens, row.tokens, "valid_tokens", "the microbatch's tokens");
  return rules.bad();
}

/// Which statistics the number of elements allows. An external trainer may compute them in any way, and the float32 of
/// a float64 may overflow or underflow.
void sizes(Rules& rules, const TensorRow& row, const Manifest& manifest) {
  rules.demand(!(row.l2 < 0), "l2", "is negative");
  rules.demand(!(row.max_abs < 0), "max_abs", "is negative");
  if (row.nan + row.inf == 0) {
    const bool may_overflow = row.dtype == "float64" || !manifest.conventions.exact_formulas;
    const auto possible = [&](auto size) { return may_overflow ? !std::isnan(size) : std::isfinite(size); };
    rules.demand(possible(row.l2), "l2", "is not finite, but all elements are counted as finite");
    rules.demand(possible(row.max_abs), "max_abs", "is not finite, but all elements are counted as finite");
  }
  if (!manifest.conventions.exact_formulas || row.dtype == "float64" || row.nan + row.inf > 0) return;
  rules.demand((row.max_abs > 0) == (row.nonzero > 0), "max_abs", "contradicts the number of non-zero elements");
}

std::optional<BadCell> bad_cell(const TensorRow& row, const Manifest& manifest, std::int64_t rank) {
  Rules rules;
  rules.step(row.step, manifest);
  // A resumed run also starts with moments.
  const bool parameter = row.kind == "parameter" || row.kind == "copy" || row.kind == "buffer";
  const bool moment = row.kind == "moment1" || row.kind == "moment2";
  const bool at_start = parameter || (manifest.first_step > 0 && moment);
  rules.demand(row.step >= 0 || at_start, "step", "is the start, where only parameters and buffers are listed");
  rules.stage(row.stage, manifest, rank);
  const auto size = size_of(row.shape);
  rules.demand(size.has_value(), "shape", "has more than 2^56 elements");
  rules.at_most(row.nonzero, size, "nonzero", "the elements of the tensor");
  rules.at_most(row.nan, size, "nan", "the elements of the tensor");
  rules.at_most(row.inf, size ? *size - std::min(*size, row.nan) : size, "inf", "the elements that are not NaN");
  rules.demand(!row.nonzero_rows || row.shape.size() == 2, "nonzero_rows",
               "is given for a tensor that is not a matrix");
  sizes(rules, row, manifest);
  if (row.shape.size() != 2) return rules.bad();
  rules.demand(row.nonzero_rows || manifest.external(), "nonzero_rows", "is missing for a matrix");
  rules.at_most(row.nonzero_rows, row.shape[0], "nonzero_rows", "the rows of the matrix");
  rules.at_most(row.nonzero_rows, row.nonzero, "nonzero_rows", "its non-zero elements");
  return rules.bad();
}

std::optional<BadCell> bad_cell(const BoundaryRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.microbatch(row.microbatch, manifest);
  const auto stages = static_cast<std::int64_t>(manifest.stages.size());
  const bool computed = row.side == "computed";
  if (row.from_stage) rules.below(*row.from_stage, stages, "from_stage", "stage");
  if (row.to_stage) rules.below(*row.to_stage, stages, "to_stage", "stage");
  if (row.peer) rules.below(*row.peer, manifest.world_size, "peer", "rank");
  for (const auto& [place, column] :
       {std::pair(row.from_stage, "from_stage"), {row.to_stage, "to_stage"}, {row.peer, "peer"}})
    rules.demand(place.has_value() != computed, column, "must be empty where side is computed, and only there");
  rules.demand(manifest.role != "reference" || computed, "side",
               "is not 'computed', which all boundaries of a reference are");
  rules.demand(manifest.role != "pipeline" || !computed, "side", "is 'computed', which is allowed only on one device");
  const auto size = size_of(row.shape);
  rules.demand(size.has_value(), "shape", "has more than 2^56 elements");
  if (size)
    rules.demand(product(*size, static_cast<std::int64_t>(dtype_size(row.dtype))) == row.bytes, "bytes",
                 "is not the size by shape and dtype");
  return rules.bad();
}

std::optional<BadCell> bad_cell(const ActionRow& row, const Manifest& manifest, std::int64_t rank) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.stage(row.stage, manifest, rank);
  if (row.microbatch) rules.microbatch(*row.microbatch, manifest);
  return rules.bad();
}

std::optional<BadCell> bad_cell(const MemoryRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step, manifest);
  return rules.bad();
}

std::optional<BadCell> bad_cell(const SavedRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.microbatch(row.microbatch, manifest);
  const bool known = std::ranges::any_of(
      manifest.stages, [&](const StageEntry& stage) { return std::ranges::count(stage.units, row.unit) > 0; });
  rules.demand(known, "unit", "is not a unit of a stage in manifest.json");
  return rules.bad();
}

std::optional<BadCell> bad_cell(const TrafficRow& row, const Manifest& manifest, std::int64_t rank) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.below(row.peer, manifest.world_size, "peer", "rank");
  rules.demand(row.peer != rank, "peer", "is the rank itself, which sends nothing to itself");
  return rules.bad();
}

std::optional<BadCell> bad_cell(const GpuMemoryRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.at_most(row.free_bytes, row.total_bytes, "free_bytes", "the GPU's total_bytes");
  return rules.bad();
}

std::optional<BadCell> bad_cell(const EvaluationRow& row, const Manifest& manifest, std::int64_t /*rank*/) {
  Rules rules;
  rules.step(row.step, manifest);
  rules.demand(manifest.evaluates_after(row.step), "step", "is not a step after which manifest.json has an evaluation");
  if (row.microbatch)
    rules.below(*row.microbatch, manifest.evaluation ? manifest.evaluation->microbatches : 0, "microbatch",
                "microbatch of an evaluation");
  rules.at_most(row.valid_tokens, row.tokens, "valid_tokens", "the row's tokens");
  rules.demand(row.microbatch || row.data_digest.empty(), "data_digest", "is given for the whole evaluation");
  rules.demand(!row.microbatch || !row.data_digest.empty() || manifest.external(), "data_digest",
               "is missing for a microbatch");
  return rules.bad();
}

}  // namespace plumbline
