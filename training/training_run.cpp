// SPDX-License-Identifier: BSD-3-Clause
#include "training/training_run.hpp"

#include <utility>

#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/tokens.hpp"

namespace plumbline {
namespace {

void check_lengths(const RunFile& run, const LlamaConfig& config, const BatchPlan& plan) {
  if (plan.longest_sequence() <= config.max_position_embeddings) return;
  throw InputError(run.path.string() + ": data.lengths asks for rows of " + std::to_string(plan.longest_sequence()) +
                   " tokens, but " + run.config.string() + " has max_position_embeddings = " +
                   std::to_string(config.max_position_embeddings) + "; shorten the rows or choose another model");
}

/// Rows are padded to the longest of their microbatch, so a few long rows can need more memory than the text has bytes.
void check_padding(const RunFile& run, const BatchPlan& plan) {
  constexpr std::int64_t bytes_of_id_and_label = 2 * sizeof(std::int64_t);
  for (std::int64_t microbatch = 0; microbatch < plan.microbatches(); ++microbatch) {
    const std::int64_t padded = plan.padded_tokens(microbatch);
    require_memory(product_of_sizes({padded, bytes_of_id_and_label}),
                   run.path.string() + ": microbatch " + std::to_string(microbatch) + " of " +
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

GpuSupport* TrainingRun::gpu() const {
  return device.is_cpu() ? nullptr : loaded_gpu_support();
}

TrainingRun load_training_run(const std::filesystem::path& run_file, const std::optional<std::filesystem::path>& text,
                              const std::vector<std::string>& assignments) {
  RunFile run = load_run_file(run_file, text, assignments);
  LlamaConfig config = load_config(run.config);
  config.halves = run.pipeline.granularity == "half";
  BatchPlan plan = load_plan(run.data, config);
  check_lengths(run, config, plan);
  check_padding(run, plan);
  plan.step_valid_tokens(0);
  std::optional<BatchPlan> validation;
  if (run.validation) {  // rows as long as the training rows
    validation.emplace(load_plan(*run.validation, config));
    validation->step_valid_tokens(0);
  }
  TrainingRun training{std::move(run), std::move(config), std::move(plan), std::move(validation)};
  training.run_id = new_run_id();
  return training;
}

}  // namespace plumbline
