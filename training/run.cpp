// SPDX-License-Identifier: BSD-3-Clause
#include "training/run.hpp"

#include <utility>

#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/toml.hpp"
#include "training/tokens.hpp"

namespace plumbline {
namespace {

void check_lengths(const RunFile& file, const LlamaConfig& config, const BatchPlan& plan) {
  if (plan.longest_sequence() <= config.max_position_embeddings) return;
  throw InputError(file.path.string() + ": data.lengths asks for rows of " + std::to_string(plan.longest_sequence()) +
                   " tokens, but " + file.config.string() + " has max_position_embeddings = " +
                   std::to_string(config.max_position_embeddings) + "; shorten the rows or choose another model");
}

/// Rows are padded to the longest of their microbatch, so a few long rows can need more memory than the text has bytes.
void check_padding(const RunFile& file, const BatchPlan& plan) {
  constexpr std::int64_t bytes_of_id_and_label = 2 * sizeof(std::int64_t);
  for (std::int64_t microbatch = 0; microbatch < plan.microbatches(); ++microbatch) {
    const std::int64_t padded = plan.padded_tokens(microbatch);
    require_memory(product_of_sizes({padded, bytes_of_id_and_label}),
                   file.path.string() + ": microbatch " + std::to_string(microbatch) + " of " +
                       std::to_string(plan.batch(microbatch)) + " rows, padded to " +
                       std::to_string(plan.sequence_length(microbatch)) + " tokens each,");
  }
}

BatchPlan load_plan(const DataSettings& data, const LlamaConfig& config) {
  Tokens tokens = load_tokens(data, config.vocab_size);
  std::optional<Tokens> ignored = load_ignored(data, tokens.size());
  return {data, std::move(tokens), std::move(ignored)};
}

}  // namespace

GpuSupport* Run::gpu() const {
  return device.is_cpu() ? nullptr : loaded_gpu_support();
}

Run load_run(const std::filesystem::path& run_file, const std::optional<std::filesystem::path>& text,
             const std::vector<std::string>& assignments) {
  RunFile file = load_run_file(run_file, text, assignments);
  LlamaConfig config = load_config(file.config);
  BatchPlan batches = load_plan(file.data, config);
  check_lengths(file, config, batches);
  check_padding(file, batches);
  batches.step_valid_tokens(0);
  std::optional<BatchPlan> validation;
  if (file.validation) {  // rows as long as the training rows
    validation = load_plan(*file.validation, config);
    validation->step_valid_tokens(0);
  }
  Run run{std::move(file), std::move(config), std::move(batches)};
  run.validation = std::move(validation);
  run.checkpoint = run.file.checkpoint.value_or(CheckpointSettings{});
  run.record_level = run.file.record_level;
  run.id = new_run_id();
  for (const std::string& each : assignments) run.assigned.push_back(split_assignment(each).first);
  return run;
}

const BatchPlan& evaluation_data(const Run& run) {
  return run.validation.value();
}

}  // namespace plumbline
