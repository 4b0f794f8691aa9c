// SPDX-License-Identifier: BSD-3-Clause
#include "reference/export.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "reference/accumulation.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/machine_memory.hpp"
#include "support/paths.hpp"
#include "support/safetensors.hpp"
#include "support/tensor_files.hpp"
#include "training/environment.hpp"
#include "training/microbatch.hpp"
#include "training/model_slice.hpp"
#include "training/run.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

/// The content of data.safetensors, split into files of whole steps, so that a header stays far below the 100 MB limit
/// of the format's own library and only one part is in memory.
class DataFiles {
 public:
  explicit DataFiles(const Run& run) : run_(run) {
    const std::int64_t tensors_of_a_step = 2 * run.batches.microbatches();
    steps_of_a_file_ = std::max<std::int64_t>(1, most_tensors / tensors_of_a_step);
    files_ = (run.train.steps + steps_of_a_file_ - 1) / steps_of_a_file_;
  }

  std::int64_t files() const { return files_; }
  std::int64_t bytes() const {
    std::int64_t tokens = 0;
    for (std::int64_t m = 0; m < run_.batches.microbatches(); ++m) {
      tokens = sum_of_sizes({tokens, run_.batches.padded_tokens(m)});
    }
    constexpr std::int64_t bytes_of_a_name = 100;  // bytes in the header
    return product_of_sizes(
        {run_.train.steps, sum_of_sizes({product_of_sizes({tokens, bytes_of_id_and_label}),
                                         product_of_sizes({2 * bytes_of_a_name, run_.batches.microbatches()})})});
  }
  void write(const std::filesystem::path& folder) const {
    for (std::int64_t file = 0; file < files_; ++file) {
      const std::string name = files_ == 1 ? "data.safetensors" : numbered_file("data", file + 1, files_);
      write_file(folder / name, file * steps_of_a_file_, std::min(run_.train.steps, (file + 1) * steps_of_a_file_));
    }
  }

 private:
  static constexpr std::int64_t most_tensors = 16384;  // per file
  static constexpr std::int64_t bytes_of_id_and_label = 2 * sizeof(std::int64_t);

  void write_file(const std::filesystem::path& path, std::int64_t first, std::int64_t end) const {
    std::vector<NamedBytes> tensors;
    const std::int64_t microbatches = run_.batches.microbatches();
    for (std::int64_t step = first; step < end; ++step) {
      for (std::int64_t m = 0; m < microbatches; ++m) {
        const std::string place = std::to_string(step) + "/" + std::to_string(m);
        const SafetensorsEntry entry{"int64", {run_.batches.batch(m), run_.batches.sequence_length(m)}, {}};
        tensors.push_back({"ids/" + place, entry});
        tensors.push_back({"labels/" + place, entry});
      }
    }
    Microbatch made;  // ids and labels are written one after the other
    write_safetensors(path, tensors, [&](std::size_t i) -> std::span<const std::byte> {
      const auto number = static_cast<std::int64_t>(i / 2);
      if (i % 2 == 0) made = run_.batches.make(first + number / microbatches, number % microbatches);
      const at::Tensor& tensor = i % 2 == 0 ? made.ids : made.labels;
      return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
    });
  }

  const Run& run_;
  std::int64_t steps_of_a_file_ = 1;
  std::int64_t files_ = 1;
};

/// Prints the required disk space and refuses to start if it is not available.
void tell_cost(const ReferenceOptions& options, const Run& run, const DataFiles& data, const NamedTensors& weights,
               const std::filesystem::path& folder) {
  std::int64_t bytes = data.bytes();
  for (const auto& [name, value] : weights) bytes += static_cast<std::int64_t>(value.nbytes());
  const auto available = free_bytes(folder);
  const std::string cost = "about " + bytes_text(bytes) + " in " + std::to_string(data.files()) + " file" +
                           (data.files() == 1 ? "" : "s") + " of data and one of weights";
  if (available && *available < static_cast<std::uintmax_t>(bytes)) {
    throw SystemError(folder.string() + ": the export takes " + cost + ", and " +
                      bytes_text(static_cast<std::int64_t>(*available)) +
                      " are free there; give another folder, or a run file of fewer steps (--check asks about a run "
                      "file and writes nothing)");
  }
  if (!options.progress) return;
  std::fprintf(stderr, "%s: writes ids and labels of %lld steps, %s\n", folder.c_str(),
               static_cast<long long>(run.train.steps), cost.c_str());
}

NamedTensors weights_of(const Run& run) {
  LlamaSlice slice(run.config, all_units(run.config), trained_type(run.train));
  set_initial_values(slice, run.file);
  NamedTensors weights;
  for (const Parameter& parameter : slice.parameters()) {
    if (!parameter.alias) weights.emplace_back(parameter.name, parameter.value);
  }
  return weights;
}

/// accumulation.csv of a run that adds its gradients in ascending order.
std::string ascending_order(const Run& run) {
  std::string lines = "unit,microbatch\n";
  for (const std::string& unit : unit_names(run.config)) {
    for (std::int64_t microbatch = 0; microbatch < run.batches.microbatches(); ++microbatch) {
      lines += unit + "," + std::to_string(microbatch) + "\n";
    }
  }
  return lines;
}

}  // namespace

void export_run(const ReferenceOptions& options, const std::filesystem::path& folder) {
  apply_deterministic_settings();
  const Run run = load_run(options.run_file, options.text, options.checkpoint.assignments);
  std::string order;
  if (options.accumulation) {
    read_accumulation_order(*options.accumulation, run.config, run.batches.microbatches());
    order = read_file(*options.accumulation, most_by_program);
  } else {
    order = ascending_order(run);
  }
  const NamedTensors weights =
      weights_of(run);  // before creating the folder, so that weights of another model leave none

  const DataFiles data(run);
  claim_record_folder(folder);
  try {
    tell_cost(options, run, data, weights, folder);
  } catch (const std::exception&) {
    give_back_record_folder(folder);
    throw;
  }
  data.write(folder);
  write_tensors(folder / "model.safetensors", weights);
  write_file(folder / "config.json", read_file(run.file.config));
  write_file(folder / "accumulation.csv", order);
}

}  // namespace plumbline
