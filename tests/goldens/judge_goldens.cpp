// SPDX-License-Identifier: BSD-3-Clause
#include "tests/goldens/judge_goldens.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <map>
#include <ostream>

#include "model/load_weights.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/ignored_label.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"
#include "tests/goldens/golden_demand.hpp"
#include "tests/goldens/golden_machine.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/prepare_device.hpp"
#include "training/graph_edges.hpp"
#include "training/loss.hpp"
#include "training/tensor_record.hpp"
#include "training/train_state.hpp"

namespace plumbline {
namespace {

/// Comparison of one tensor of a golden with the computed one.
struct Comparison {
  std::string name;
  std::int64_t elements = 0;
  std::int64_t largest_ulp = 0;
  double largest_difference = 0;
  double limit = 0;
  std::string defect;  ///< NaN, another shape, ...; empty: none
  bool holds = false;
};

struct Tally {
  std::int64_t tensors = 0, elements = 0;
  std::int64_t tensors_at_bits = 0, elements_at_bits = 0;  ///< compared at 0 ULP
};

/// Index of a float in the order of all floats; both zeros have the same.
std::int64_t ordinal(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits < 0 ? -static_cast<std::int64_t>(bits & 0x7fffffff) : bits;
}

/// Copies a tensor of io.safetensors, since the file's data may be unaligned.
at::Tensor to_tensor(const SafetensorsFile& file, const std::string& name, const std::string& dtype) {
  const SafetensorsEntry& entry = file.at(name);
  if (entry.dtype != dtype) {
    throw InputError(file.path().string() + ": " + name + " must be " + dtype + ", found " + entry.dtype);
  }
  const at::Tensor tensor = at::empty(entry.shape, parse_dtype(dtype));
  if (!entry.bytes.empty()) {
    std::memcpy(tensor.mutable_data_ptr(), entry.bytes.data(), entry.bytes.size());
  }
  return tensor;
}

/// Ids or labels [batch, sequence]; throws unless each is in the vocabulary or, for labels, -100.
at::Tensor read_tokens(const SafetensorsFile& file, const std::string& name, std::int64_t vocab_size, bool labels) {
  const at::Tensor tokens = to_tensor(file, name, "int64");
  const std::string where = file.path().string() + ": " + name;
  if (tokens.dim() != 2 || tokens.numel() == 0) {
    throw InputError(where + " must be [batch, sequence], found [" + shape_text(tokens.sizes().vec()) + "]");
  }
  const auto* values = tokens.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    if (!(values[i] >= 0 && values[i] < vocab_size) && !(labels && values[i] == ignored_label)) {
      throw InputError(where + " holds " + std::to_string(values[i]) + ", beyond vocab_size " +
                       std::to_string(vocab_size));
    }
  }
  return tokens;
}

/// Labels as the loss takes them: position t is scored against labels[t].
at::Tensor read_shifted_labels(const SafetensorsFile& file, const LlamaConfig& config, const at::Tensor& ids) {
  const bool shifted = file.entries().contains("shift_labels");
  at::Tensor labels = read_tokens(file, shifted ? "shift_labels" : "labels", config.vocab_size, true);
  if (labels.sizes() != ids.sizes()) {
    throw InputError(file.path().string() + ": labels are [" + shape_text(labels.sizes().vec()) + "], input_ids [" +
                     shape_text(ids.sizes().vec()) + "]");
  }
  if (!shifted) {  // as transformers does: pad by one, then drop the first
    labels = at::constant_pad_nd(labels, {0, 1}, ignored_label).slice(1, 1).contiguous();
  }
  if (labels.ne(ignored_label).sum().item<std::int64_t>() == 0) {
    throw InputError(file.path().string() + ": no position has a label: there is no loss to compare");
  }
  return labels;
}

/// The golden's dtype: that of its logits. A golden without logits fails with any dtype.
std::string read_dtype(const SafetensorsFile& io) {
  const auto logits = io.entries().find("logits");
  const std::string dtype = logits == io.entries().end() ? "float32" : logits->second.dtype;
  if (dtype != "float32" && dtype != "bfloat16") {
    throw InputError(io.path().string() + ": logits must be float32 or bfloat16, found " + dtype);
  }
  return dtype;
}

/// Outputs of the model, run unit by unit as in the trainers, under the names of io.safetensors.
std::map<std::string, at::Tensor> compute_outputs(const std::filesystem::path& directory, const LlamaConfig& config,
                                                  const SafetensorsFile& io, at::ScalarType dtype, at::Device device) {
  if (!device.is_cpu()) start_gpu(device, dtype, false);
  const at::Tensor read_ids = read_tokens(io, "input_ids", config.vocab_size, false);
  const at::Tensor ids = read_ids.to(device), labels = read_shifted_labels(io, config, read_ids).to(device);

  LlamaSlice model(config, all_units(config), dtype, device);
  load_weights(model, directory / "model.safetensors");
  model.allocate_gradients();
  model.prepare_tables(ids.size(1));
  at::Tensor logits = ids;
  for (std::int64_t unit = 0; unit < model.units().end; ++unit) logits = model.forward_unit(unit, logits);
  const at::Tensor scored =
      std::exchange(logits, logits.detach().clone());  // a clone, because the loss reuses the logits' memory
  const at::Tensor loss = token_weighted_loss(scored, labels, labels.ne(ignored_label).sum().item<std::int64_t>());
  GraphEnd(loss).backward();
  OptimizerSettings stateless;
  stateless.name = "sgd";
  const TrainState state(stateless, model.parameters());
  TiedWeight(config.tied, state).add_uses();

  std::map<std::string, at::Tensor> outputs{{"logits", logits.cpu()}, {"loss", loss.detach().cpu()}};
  for (const Parameter& parameter : model.parameters()) {
    if (!parameter.alias) {
      outputs["grad." + parameter.name] = parameter.value.grad().cpu();
    }
  }
  return outputs;
}

/// Both tensors have the same dtype, float32 or bfloat16.
void compare_values(Comparison& result, const at::Tensor& expected, const at::Tensor& computed) {
  // A bfloat16 is the upper half of a float32, so neighbors are 2^16 float32 apart.
  const std::int64_t ulp = expected.scalar_type() == at::kBFloat16 ? 1 << 16 : 1;
  const at::Tensor wide_expected = expected.to(at::kFloat), wide_computed = computed.to(at::kFloat);
  const auto* golden = wide_expected.const_data_ptr<float>();
  const auto* ours = wide_computed.const_data_ptr<float>();
  result.elements = expected.numel();
  for (std::int64_t i = 0; i < result.elements; ++i) {
    if (!std::isfinite(golden[i]) || !std::isfinite(ours[i])) {
      result.defect = std::isfinite(golden[i]) ? "NaN or infinity in ours" : "NaN or infinity in the golden";
      return;
    }
    result.largest_ulp = std::max(result.largest_ulp, std::abs(ordinal(golden[i]) - ordinal(ours[i])) / ulp);
    const double difference = std::abs(static_cast<double>(golden[i]) - static_cast<double>(ours[i]));
    result.largest_difference = std::max(result.largest_difference, difference);
  }
}

double largest_element(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

/// The largest absolute element of all gradients in the golden.
double largest_gradient(const SafetensorsFile& io) {
  double largest = 0;
  for (const auto& entry : io.entries()) {
    if (entry.first.starts_with("grad.")) {
      largest = std::max(largest, largest_element(to_tensor(io, entry.first, entry.second.dtype)));
    }
  }
  return largest;
}

double limit_of(const std::string& name, const GoldenDemand& demand, const at::Tensor& expected,
                double largest_of_all) {
  if (demand.bits) {
    return 0;
  }
  if (name == "logits") {
    return demand.logits_absolute;
  }
  if (name == "loss") {
    return demand.loss_absolute;
  }
  return std::max(demand.gradient_relative_to_largest * largest_element(expected),
                  demand.gradient_floor_relative_to_all * largest_of_all);
}

void compare_digest(Comparison& result, const std::string& expected, const at::Tensor& computed) {
  result.elements = computed.numel();
  const std::string found = digest(computed.add(0.0));  // -0 becomes 0: they are equal at 0 ULP
  if (!computed.isfinite().all().item<bool>()) {
    result.defect = "NaN or infinity in ours";
  } else if (found != expected) {
    result.defect = "digest " + found + ", expected " + expected;
  }
  result.holds = result.elements > 0 && result.defect.empty();
}

Comparison compare(const std::string& name, const SafetensorsFile& io, const std::map<std::string, at::Tensor>& outputs,
                   const GoldenDemand& demand, double largest_of_all) {
  Comparison result;
  result.name = name;
  const auto ours = outputs.find(name);
  if (ours == outputs.end()) {
    result.defect = "the model has no such tensor";
    return result;
  }
  if (demand.digests) {
    const auto expected = demand.digests->find(name);
    if (expected == demand.digests->end()) {
      result.defect = "missing in golden.json";
    } else {
      compare_digest(result, expected->second, ours->second);
    }
    return result;
  }
  if (!io.entries().contains(name)) {
    result.defect = "missing in io.safetensors";
    return result;
  }
  const at::Tensor expected = to_tensor(io, name, dtype_name(ours->second.scalar_type()));
  if (expected.sizes() != ours->second.sizes()) {
    result.defect =
        "shape [" + shape_text(expected.sizes().vec()) + "], ours [" + shape_text(ours->second.sizes().vec()) + "]";
    return result;
  }
  compare_values(result, expected, ours->second.contiguous());
  if (result.defect.empty()) {
    result.limit = limit_of(name, demand, expected, largest_of_all);
    result.holds =
        result.elements > 0 && (demand.bits ? result.largest_ulp == 0 : result.largest_difference <= result.limit);
  }
  return result;
}

/// The union of both sides' names: logits, loss, then gradients.
std::vector<std::string> names_to_compare(const SafetensorsFile& io, const std::map<std::string, at::Tensor>& outputs,
                                          const GoldenDemand& demand) {
  std::vector<std::string> names{"logits", "loss"};
  for (const auto& output : outputs) {
    names.push_back(output.first);
  }
  if (demand.digests) {
    for (const auto& entry : *demand.digests) names.push_back(entry.first);
  } else {
    for (const auto& entry : io.entries()) names.push_back(entry.first);
  }
  std::erase_if(
      names, [](const std::string& name) { return name == "input_ids" || name == "labels" || name == "shift_labels"; });
  std::ranges::sort(names, {}, [](const std::string& name) {
    return std::make_pair(name != "logits" ? name != "loss" ? 2 : 1 : 0, name);
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void print_row(std::ostream& out, const Comparison& row) {
  out << "  " << std::setprecision(3) << std::left << std::setw(58) << row.name << std::right << std::setw(9)
      << row.elements << std::setw(11);
  if (row.defect.empty()) {
    out << row.largest_ulp << std::setw(12) << row.largest_difference << std::setw(11) << row.limit;
  } else {
    out << "-" << std::setw(12) << "-" << std::setw(11) << "-";
  }
  out << "  " << (row.holds ? "holds" : "FAILS") << (row.defect.empty() ? "" : ": " + row.defect) << '\n';
}

/// If set, the value is the ATen capability with which this machine must reproduce the goldens' bits; a comparison
/// within tolerances, or another capability, then fails.
const char* const require_bits = "PLUMBLINE_REQUIRE_GOLDEN_BITS";

bool bits_required() {
  return std::getenv(require_bits) != nullptr;
}

bool judge(const std::filesystem::path& directory, at::Device device, std::ostream& out, Tally& tally) {
  if (!std::filesystem::is_directory(directory)) {
    throw InputError(directory.string() +
                     " is not a directory: a golden has config.json, model.safetensors and io.safetensors");
  }
  const std::filesystem::path producer = directory / "golden.json";
  const Json golden = std::filesystem::exists(producer) ? read_json(producer) : Json(nullptr);
  const LlamaConfig config = load_config(directory / "config.json");
  const SafetensorsFile io(directory / "io.safetensors");
  const std::string dtype = read_dtype(io);
  GoldenDemand demand = golden_demand(golden, machine_json(), environment_json(), producer, dtype);
  if (!device.is_cpu()) {
    demand.bits = false;
    demand.digests.reset();
    demand.reason = "computed on a GPU; a processor computed the golden";
  }
  const std::map<std::string, at::Tensor> outputs = compute_outputs(directory, config, io, parse_dtype(dtype), device);

  out << directory.string() << "\n  " << (demand.bits ? "0 ULP demanded: " : "tolerance: ") << demand.reason << "\n  "
      << std::left << std::setw(58) << "tensor" << std::right << std::setw(9) << "elements" << std::setw(11) << "ULP"
      << std::setw(12) << "difference" << std::setw(11) << "limit" << '\n';
  // A bfloat16 golden has the bits of one processor; if all its entries are of other versions, none applies here.
  const bool of_others = golden.is_object() && !names_this_torch(golden.value("torch", Json()));
  bool holds = demand.bits || !device.is_cpu() || !bits_required() || dtype == "bfloat16" || of_others;
  if (!holds) {
    out << "  FAILS: " << require_bits << "=" << std::getenv(require_bits)
        << " demands bits of every golden in float32\n";
  }
  Tally own;
  const double largest_of_all = largest_gradient(io);
  for (const std::string& name : names_to_compare(io, outputs, demand)) {
    const Comparison row = compare(name, io, outputs, demand, largest_of_all);
    print_row(out, row);
    holds = holds && row.holds;
    ++own.tensors;
    own.elements += row.elements;
    own.tensors_at_bits += demand.bits && row.defect.empty() ? 1 : 0;
    own.elements_at_bits += demand.bits && row.defect.empty() ? row.elements : 0;
  }
  out << "  " << (holds ? "holds" : "FAILS") << "; compared at 0 ULP: " << own.tensors_at_bits << " of " << own.tensors
      << " tensors, " << own.elements_at_bits << " of " << own.elements << " elements\n\n";
  tally.tensors += own.tensors;
  tally.elements += own.elements;
  tally.tensors_at_bits += own.tensors_at_bits;
  tally.elements_at_bits += own.elements_at_bits;
  return holds;
}

}  // namespace

int judge_goldens(const std::vector<std::filesystem::path>& directories, std::ostream& out, const std::string& device) {
  if (directories.empty()) {
    throw InputError("no golden to judge: give at least one directory");
  }
  if (device == "cuda") open_gpus();  // must precede any call that makes LibTorch look for CUDA
  apply_deterministic_settings();
  const at::Device computing = device == "cuda" ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  const std::string here = machine_json().value("aten_capability", "");
  if (bits_required() && std::getenv(require_bits) != here) {
    throw InputError(std::string(require_bits) + "=" + std::getenv(require_bits) + ", but this machine computes with " +
                     here + ": unset it, or remove what limits LibTorch to other instructions");
  }
  Tally tally;
  std::size_t holding = 0;
  for (const std::filesystem::path& directory : directories) {
    holding += judge(directory, computing, out, tally) ? 1 : 0;
  }
  out << holding << " of " << directories.size() << " goldens hold; compared at 0 ULP: " << tally.tensors_at_bits
      << " of " << tally.tensors << " tensors, " << tally.elements_at_bits << " of " << tally.elements << " elements\n";
  return holding == directories.size() ? 0 : 1;
}

}  // namespace plumbline
