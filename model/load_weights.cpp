// SPDX-License-Identifier: BSD-3-Clause
#include "model/load_weights.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/all.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>

#include "model/parameter.hpp"
#include "model/parameter_shapes.hpp"
#include "model/tied_names.hpp"
#include "support/error.hpp"
#include "support/tensor_files.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// The name prefix in a record's dump of a step.
const std::string dumped = "parameter/";

/// Element by element, since the file's data may be unaligned. Conversion to bfloat16 rounds to nearest, ties to even.
template <typename From, typename To>
void convert(std::span<const std::byte> bytes, To* out, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) {
    From element;
    std::memcpy(&element, bytes.data() + static_cast<std::size_t>(i) * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(element);
  }
}

template <typename To>
bool copy_as(const SafetensorsEntry& entry, at::Tensor& value) {
  To* out = value.mutable_data_ptr<To>();
  if (entry.dtype == "float32") {
    convert<float>(entry.bytes, out, value.numel());
  } else if (entry.dtype == "bfloat16") {
    convert<c10::BFloat16>(entry.bytes, out, value.numel());
  } else if (entry.dtype == "float16") {
    convert<c10::Half>(entry.bytes, out, value.numel());
  } else {
    if constexpr (std::is_same_v<To, double>) {
      if (entry.dtype == "float64") {
        convert<double>(entry.bytes, out, value.numel());
        return true;
      }
    }
    return false;
  }
  return true;
}

/// The name prefix if the file is a record's dump of a step, else empty.
std::string prefix_of(const TensorFiles& files) {
  const std::vector<std::string> names = files.names();
  const auto first = std::ranges::lower_bound(names, dumped);
  return first != names.end() && first->starts_with(dumped) ? dumped : "";
}

/// A tensor unknown to the config, such as a bias that it disables, would otherwise be dropped silently.
void refuse_unknown_tensors(const LlamaConfig& config, const TensorFiles& files) {
  std::set<std::string> known;
  for (const ParameterShape& shape : parameter_shapes(config)) known.insert(shape.name);
  for (const std::string& name : files.names()) {
    if (known.contains(name) || name.ends_with("rotary_emb.inv_freq")) continue;  // a constant in older files
    throw InputError(files.where(name) +
                     ": the config has no such tensor: config.json and weights belong to different models");
  }
}

/// The file entry to read a parameter from: of a tied pair, the one that exists.
std::string entry_name(const LlamaConfig& config, const TensorFiles& files, const std::string& prefix,
                       const std::string& parameter) {
  if (!config.tied && parameter == head_weight && !files.holds(prefix + parameter)) {
    throw InputError(files.path().string() + ": holds no tensor " + prefix + parameter +
                     ", which the config asks for; if the head shares the embedding's weight, set "
                     "tie_word_embeddings = true in the config");
  }
  if (!config.tied || (parameter != embedding_weight && parameter != head_weight)) return prefix + parameter;
  const bool embedding = files.holds(prefix + embedding_weight), head = files.holds(prefix + head_weight);
  if (embedding && head &&
      !std::ranges::equal(files.at(prefix + embedding_weight).bytes, files.at(prefix + head_weight).bytes)) {
    throw InputError(
        files.path().string() +
        ": lm_head.weight differs from model.embed_tokens.weight, but the config sets tie_word_embeddings");
  }
  return prefix + (embedding || !head ? embedding_weight : head_weight);
}

void require_shape(const TensorFiles& files, const std::string& name, const std::vector<std::int64_t>& shape) {
  const SafetensorsEntry& entry = files.at(name);
  if (entry.shape == shape) return;
  throw InputError(files.where(name) + ": by the config its shape is [" + shape_text(shape) + "], found [" +
                   shape_text(entry.shape) + "]: config.json and weights belong to different models");
}

}  // namespace

void check_weights(const LlamaConfig& config, const std::filesystem::path& path) {
  const TensorFiles files = TensorFiles::of_model(path);
  const std::string prefix = prefix_of(files);
  if (prefix.empty()) refuse_unknown_tensors(config, files);
  for (const ParameterShape& each : parameter_shapes(config)) {
    require_shape(files, entry_name(config, files, prefix, each.name), each.shape);
  }
}

void load_tensor(const TensorFiles& files, const std::string& name, at::Tensor& value) {
  require_shape(files, name, value.sizes().vec());
  const SafetensorsEntry& entry = files.at(name);
  const at::NoGradGuard no_grad;
  at::Tensor host = value.is_cpu() ? value : at::empty(value.sizes(), value.options().device(at::kCPU));
  const bool twice = value.scalar_type() == at::kDouble;
  const bool half = value.scalar_type() == at::kBFloat16;
  const bool taken = twice  ? copy_as<double>(entry, host)
                     : half ? copy_as<c10::BFloat16>(entry, host)
                            : copy_as<float>(entry, host);
  if (!taken) {
    throw InputError(files.where(name) + ": expected " + (twice ? "float64, float32" : "float32") +
                     ", bfloat16 or float16, found " + entry.dtype);
  }
  if (!at::isfinite(host).all().item<bool>()) {
    throw InputError(files.where(name) + ": holds numbers that are not finite in " +
                     c10::toString(value.scalar_type()) + "; training cannot start from them");
  }
  if (!value.is_cpu()) value.copy_(host);
}

void load_weights(LlamaSlice& slice, const std::filesystem::path& path) {
  const TensorFiles files = TensorFiles::of_model(path);
  const std::string prefix = prefix_of(files);
  if (prefix.empty()) refuse_unknown_tensors(slice.config(), files);
  for (Parameter& parameter : slice.parameters()) {
    if (parameter.alias) continue;
    at::Tensor value = parameter.trained();
    load_tensor(files, entry_name(slice.config(), files, prefix, parameter.name), value);
  }
  slice.round_masters();
}

}  // namespace plumbline
