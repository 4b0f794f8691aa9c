// Parameters from a Hugging Face model.safetensors.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "model/llama_slice.hpp"
#include "model/tied_names.hpp"
#include "support/error.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// What stands before the names in a record's dump of a step.
const std::string dumped = "parameter/";

/// Element by element: the file's bytes need not be aligned. To bfloat16 it rounds to the nearest, ties to even.
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

void copy_entry(const SafetensorsFile& file, const std::string& name, at::Tensor& value) {
  const SafetensorsEntry& entry = file.at(name);
  const std::string where = file.path().string() + ": " + name;
  if (!std::ranges::equal(entry.shape, value.sizes())) {
    throw InputError(where + ": the config makes its shape [" + shape_text(value.sizes().vec()) + "], found [" +
                     shape_text(entry.shape) + "]: config.json and weights are not of one model");
  }
  const bool twice = value.scalar_type() == at::kDouble;
  const bool half = value.scalar_type() == at::kBFloat16;
  const bool taken = twice  ? copy_as<double>(entry, value)
                     : half ? copy_as<c10::BFloat16>(entry, value)
                            : copy_as<float>(entry, value);
  if (!taken) {
    throw InputError(where + ": expected " + (twice ? "float64, float32" : "float32") +
                     ", bfloat16 or float16, found " + entry.dtype);
  }
}

/// The entry a parameter is read from: of a tied pair, the one that the file holds.
std::string entry_name(const LlamaConfig& config, const SafetensorsFile& file, const std::string& parameter) {
  const auto first_dumped = file.entries().lower_bound(dumped);
  const bool is_dump = first_dumped != file.entries().end() && first_dumped->first.starts_with(dumped);
  const std::string prefix = is_dump ? dumped : "";
  if (!config.tied || (parameter != embedding_weight && parameter != head_weight)) {
    return prefix + parameter;
  }
  const auto embedding = file.entries().find(prefix + embedding_weight);
  const auto head = file.entries().find(prefix + head_weight);
  if (embedding == file.entries().end()) {
    return prefix + (head == file.entries().end() ? embedding_weight : head_weight);
  }
  if (head != file.entries().end() && !std::ranges::equal(embedding->second.bytes, head->second.bytes)) {
    throw InputError(
        file.path().string() +
        ": lm_head.weight differs from model.embed_tokens.weight, but the config says tie_word_embeddings");
  }
  return prefix + embedding_weight;
}

}  // namespace

void load_weights(LlamaSlice& slice, const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  for (Parameter& parameter : slice.parameters()) {
    if (!parameter.alias) {
      const std::string entry = entry_name(slice.config(), file, parameter.name);
      at::Tensor& value = parameter.value;
      at::Tensor host = value.is_cpu() ? value : at::empty(value.sizes(), value.options().device(at::kCPU));
      copy_entry(file, entry, host);
      if (!value.is_cpu()) {
        const at::NoGradGuard no_grad;
        value.copy_(host);
      }
    }
  }
}

}  // namespace plumbline
