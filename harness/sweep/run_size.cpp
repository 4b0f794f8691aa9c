// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_size.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/sweep/run_facts.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

double number(const Json& json, const char* key, double fallback) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : fallback;
}

double parameters_of(const Json& config, double hidden, double layers) {
  const double heads = std::max(number(config, "num_attention_heads", 1), 1.0);
  const double kept_heads = number(config, "num_key_value_heads", heads);
  const double attention = 2 * hidden * hidden + 2 * hidden * hidden * kept_heads / heads;
  const double layer = attention + 3 * hidden * number(config, "intermediate_size", 0) + 2 * hidden;
  const bool tied = config.value("tie_word_embeddings", Json(false)) == true;
  return layers * layer + (tied ? 1 : 2) * number(config, "vocab_size", 0) * hidden + hidden;
}

// Typical sizes for models of some layers and a hidden size of hundreds.
constexpr double tensor_row = 141, boundary_row = 92, action_row = 43, microbatch_row = 60, saved_row = 40;
/// Files occupy whole blocks: on average half a block is unused, and small files take one.
constexpr double block = 4096, files_of_a_rank = 9, files_of_a_launch = 8;

std::string size_text(double bytes) {
  const bool large = bytes >= 1e9;
  const double number = bytes / (large ? 1e9 : 1e6);
  return fmt::format("{:.{}f} {}", number, number < 10 ? 1 : 0, large ? "GB" : "MB");
}

}  // namespace

RunSize run_size(const SweepFile& sweep, const PlannedReference& reference) {
  if (reference.command) return {};
  RunSize size;
  try {
    const Request request = reference.request ? *reference.request : make_request(sweep, reference);
    const auto facts = facts_of(reference);
    const auto model = model_config(facts->config);
    const Json& config = model->json;
    if (!config.is_object()) return {};
    size.hidden = number(config, "hidden_size", 0);
    size.layers = number(config, "num_hidden_layers", 0);
    size.parameters = parameters_of(config, size.hidden, size.layers);
    size.steps = static_cast<double>(request.steps.value_or(0));
    size.microbatches = static_cast<double>(request.microbatches->size());
    for (const auto& microbatch : *request.microbatches) {
      const auto longest = std::ranges::max(microbatch.lengths);
      size.tokens += static_cast<double>(longest) * static_cast<double>(microbatch.lengths.size());
    }
    const bool sgd = request.optimizer->at("name") == "sgd";
    size.states = !sgd ? 2 : number(*request.optimizer, "momentum", 0) > 0 ? 1 : 0;
    size.element_bytes = request.dtype == "float64" ? 8 : request.dtype == "bfloat16" ? 2 : 4;
  } catch (const InputError&) {
    return {};
  }
  return size;
}

double dump_bytes(const RunSize& size) {
  const double values = (size.steps * (2 + size.states) + 1) * size.parameters;
  const double crossing =
      size.steps * size.tokens * size.hidden * (size.layers + 2) * 2 * 2;  // two directions, two ends
  return (values + crossing) * size.element_bytes;
}

double rough_seconds(const RunSize& size, std::int64_t ranks) {
  constexpr double start_s = 0.5, start_of_a_rank_s = 0.15, operations_a_second = 15e9;
  return start_s + start_of_a_rank_s * static_cast<double>(ranks) +
         6 * size.parameters * size.tokens * size.steps / operations_a_second;
}

SweepWork::SweepWork(const SweepFile& file, const SweepPlan& plan) : calibrated_(file.calibrated) {
  for (const auto& reference : plan.references) {
    sizes_.push_back(run_size(file, reference));
    total_ += of_reference(sizes_.size() - 1);
  }
  for (const auto& cell : plan.cells) total_ += of(cell);
}

double SweepWork::of_reference(std::size_t index) const {
  constexpr double of_a_calibration = 22;  // the run, its float64 reference and the perturbed runs
  return rough_seconds(sizes_[index], 1) * (calibrated_ ? of_a_calibration : 1);
}

double SweepWork::of(const PlannedCell& cell) const {
  return rough_seconds(sizes_[cell.reference], cell.plan.world) *
         ((cell.plan.repeat ? 2 : 1) + (cell.resumes_from ? 1 : 0));
}

double record_bytes(const RunSize& size, std::int64_t ranks, std::int64_t stages, const std::string& level) {
  const bool reference = ranks == 0;
  const double processes = reference ? 1 : static_cast<double>(ranks), all_stages = static_cast<double>(stages);
  const double microbatches = size.steps * size.microbatches;
  double bytes = (processes * files_of_a_rank + files_of_a_launch) * block;
  if (level == "none") return bytes;
  bytes += microbatches * all_stages * (reference ? 2 : 6) * action_row;
  bytes += microbatches * processes * microbatch_row;
  if (reference) bytes += size.microbatches * (size.layers + 3) * saved_row;
  if (level == "summary") return bytes;
  const double tensors = 9 * size.layers + 3;
  bytes += tensors * ((2 + size.states) * size.steps + 1) * tensor_row;
  bytes += microbatches * 2 * (reference ? size.layers + 2 : 2 * (all_stages - 1)) * boundary_row;
  return level == "dump" ? bytes + dump_bytes(size) : bytes;
}

std::optional<double> disk_estimate(const SweepFile& sweep, const SweepPlan& plan) {
  if (sweep.commands) return std::nullopt;
  constexpr double calibration_runs = 3;  // kept: the reference, its float64 reference, and limits
  const auto level_of = [&](const auto& planned) { return make_request(sweep, planned).level.value_or("full"); };
  double estimate = 0;
  std::vector<RunSize> sizes;
  for (const auto& reference : plan.references) {
    sizes.push_back(run_size(sweep, reference));
    const double bytes = record_bytes(sizes.back(), 0, 1, level_of(reference));
    estimate += bytes * (sweep.calibrated ? calibration_runs : 1);
  }
  for (const auto& cell : plan.cells) {
    const RunSize& size = sizes[cell.reference];
    const std::int64_t stages = cell.plan.world * std::max(cell.placement.chunks_per_rank, 1);
    const double bytes = record_bytes(size, cell.plan.world, stages, level_of(cell));
    estimate += bytes * (cell.plan.repeat ? 2 : 1);
  }
  return estimate;
}

std::string disk_text(double bytes, const fs::path& folder) {
  std::string text = "about " + size_text(bytes) + " on disk";
  std::error_code unknown;
  fs::path there = fs::absolute(folder, unknown);
  while (!there.empty() && !fs::exists(there, unknown) && there != there.parent_path()) there = there.parent_path();
  const auto available = free_bytes(there);
  if (available && static_cast<double>(*available) < bytes)
    text += fmt::format(", and {} has only {} left", there.string(), size_text(static_cast<double>(*available)));
  return text;
}

}  // namespace plumbline
