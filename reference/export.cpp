#include "reference/export.hpp"

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "reference/accumulation.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "training/environment.hpp"
#include "training/initial_values.hpp"
#include "training/session.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

/// Tensors under their names, kept alive until the file is written.
class NamedTensors {
 public:
  void add(const std::string& name, at::Tensor tensor) {
    const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
    entries_.push_back({name, {dtype_name(tensor.scalar_type()), tensor.sizes().vec(), {data, tensor.nbytes()}}});
    kept_.push_back(std::move(tensor));
  }
  void write(const std::filesystem::path& path) const { write_safetensors(path, entries_); }

 private:
  std::vector<NamedBytes> entries_;
  std::vector<at::Tensor> kept_;
};

NamedTensors data_of(const Session& session) {
  NamedTensors data;
  for (std::int64_t step = 0; step < session.run.train.steps; ++step) {
    for (std::int64_t microbatch = 0; microbatch < session.plan.microbatches(); ++microbatch) {
      const std::string place = std::to_string(step) + "/" + std::to_string(microbatch);
      Microbatch made = session.plan.make(step, microbatch);
      data.add("ids/" + place, std::move(made.ids));
      data.add("labels/" + place, std::move(made.labels));
    }
  }
  return data;
}

NamedTensors weights_of(const Session& session) {
  LlamaSlice slice(session.config, {0, static_cast<std::int64_t>(unit_names(session.config).size())},
                   parse_dtype(session.run.train.dtype));
  set_initial_values(slice, session.run);
  NamedTensors weights;
  for (const Parameter& parameter : slice.parameters()) {
    if (!parameter.alias) weights.add(parameter.name, parameter.value.detach());
  }
  return weights;
}

/// accumulation.csv of a run that adds its gradients in ascending order.
std::string ascending_order(const Session& session) {
  std::string lines = "unit,microbatch\n";
  for (const std::string& unit : unit_names(session.config)) {
    for (std::int64_t microbatch = 0; microbatch < session.plan.microbatches(); ++microbatch) {
      lines += unit + "," + std::to_string(microbatch) + "\n";
    }
  }
  return lines;
}

}  // namespace

void export_run(const ReferenceOptions& options, const std::filesystem::path& folder) {
  apply_deterministic_settings();
  const Session session = load_session(options.run_file, options.text);
  std::string order;
  if (options.accumulation) {
    read_accumulation_order(*options.accumulation, session.config, session.plan.microbatches());
    order = read_file(*options.accumulation);
  } else {
    order = ascending_order(session);
  }
  const NamedTensors weights = weights_of(session);  // before the folder, so that weights of another model leave none

  claim_record_folder(folder);
  data_of(session).write(folder / "data.safetensors");
  weights.write(folder / "model.safetensors");
  write_file(folder / "config.json", read_file(session.run.config));
  write_file(folder / "accumulation.csv", order);
}

}  // namespace plumbline
