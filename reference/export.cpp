#include "reference/export.hpp"

#include <ATen/core/Tensor.h>

#include <string>

#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "reference/accumulation.hpp"
#include "support/files.hpp"
#include "training/environment.hpp"
#include "training/make_slice.hpp"
#include "training/microbatch.hpp"
#include "training/precision.hpp"
#include "training/tensor_record.hpp"
#include "training/training_run.hpp"

namespace plumbline {
namespace {

NamedTensors data_of(const TrainingRun& training) {
  NamedTensors data;
  for (std::int64_t step = 0; step < training.run.train.steps; ++step) {
    for (std::int64_t microbatch = 0; microbatch < training.plan.microbatches(); ++microbatch) {
      const std::string place = std::to_string(step) + "/" + std::to_string(microbatch);
      Microbatch made = training.plan.make(step, microbatch);
      data.emplace_back("ids/" + place, std::move(made.ids));
      data.emplace_back("labels/" + place, std::move(made.labels));
    }
  }
  return data;
}

NamedTensors weights_of(const TrainingRun& training) {
  LlamaSlice slice(training.config, all_units(training.config), trained_type(training.run.train));
  set_initial_values(slice, training.run);
  NamedTensors weights;
  for (const Parameter& parameter : slice.parameters()) {
    if (!parameter.alias) weights.emplace_back(parameter.name, parameter.value);
  }
  return weights;
}

/// accumulation.csv of a run that adds its gradients in ascending order.
std::string ascending_order(const TrainingRun& training) {
  std::string lines = "unit,microbatch\n";
  for (const std::string& unit : unit_names(training.config)) {
    for (std::int64_t microbatch = 0; microbatch < training.plan.microbatches(); ++microbatch) {
      lines += unit + "," + std::to_string(microbatch) + "\n";
    }
  }
  return lines;
}

}  // namespace

void export_run(const ReferenceOptions& options, const std::filesystem::path& folder) {
  apply_deterministic_settings();
  const TrainingRun training = load_training_run(options.run_file, options.text);
  std::string order;
  if (options.accumulation) {
    read_accumulation_order(*options.accumulation, training.config, training.plan.microbatches());
    order = read_file(*options.accumulation);
  } else {
    order = ascending_order(training);
  }
  const NamedTensors weights = weights_of(training);  // before the folder, so that weights of another model leave none

  claim_record_folder(folder);
  write_tensors(folder / "data.safetensors", data_of(training));
  write_tensors(folder / "model.safetensors", weights);
  write_file(folder / "config.json", read_file(training.run.config));
  write_file(folder / "accumulation.csv", order);
}

}  // namespace plumbline
