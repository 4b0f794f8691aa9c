// SPDX-License-Identifier: BSD-3-Clause
#include "training/tensor_record.hpp"

#include <array>
#include <span>
#include <stdexcept>

#include "record/digest.hpp"
#include "record/tensor_statistics.hpp"
#include "support/error.hpp"
#include "support/safetensors.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

namespace {

struct KnownDtype {
  const char* name;
  at::ScalarType type;
};
constexpr std::array known_dtypes{
    KnownDtype{"float32", at::kFloat}, KnownDtype{"float64", at::kDouble}, KnownDtype{"bfloat16", at::kBFloat16},
    KnownDtype{"float16", at::kHalf},  KnownDtype{"int64", at::kLong},
};

at::Tensor contiguous(const at::Tensor& tensor) {
  // Copies only a tensor that is not contiguous or is on a GPU.
  const MemoryScope scope(MemoryOwner::recorder);
  return tensor.detach().to(at::kCPU).contiguous();
}

std::span<const std::byte> bytes_of(const at::Tensor& contiguous) {
  return {static_cast<const std::byte*>(contiguous.const_data_ptr()), contiguous.nbytes()};
}

}  // namespace

std::string dtype_name(at::ScalarType dtype) {
  for (const KnownDtype& known : known_dtypes) {
    if (known.type == dtype) {
      return known.name;
    }
  }
  throw std::logic_error("records do not know dtype " + std::string(c10::toString(dtype)));
}

at::ScalarType parse_dtype(const std::string& name) {
  for (const KnownDtype& known : known_dtypes) {
    if (name == known.name) {
      return known.type;
    }
  }
  throw InputError("unknown dtype \"" + name + "\": give one of float32, float64, bfloat16, float16, int64");
}

std::string digest(const at::Tensor& tensor) {
  const at::Tensor flat = contiguous(tensor);
  return tensor_digest(dtype_name(flat.scalar_type()), flat.sizes().vec(), bytes_of(flat));
}

TensorRow describe(const at::Tensor& tensor) {
  const at::Tensor flat = contiguous(tensor);
  return described(dtype_name(flat.scalar_type()), flat.sizes().vec(), bytes_of(flat));
}

void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                   const std::function<void()>& before_each) {
  std::vector<NamedBytes> described;
  for (const auto& [name, value] : tensors) {
    described.push_back({name, {dtype_name(value.scalar_type()), value.sizes().vec(), {}}});
  }
  at::Tensor host;
  write_safetensors(path, described, [&](std::size_t i) {
    if (before_each) before_each();
    host = tensors[i].second.detach().to(at::kCPU).contiguous();
    return bytes_of(host);
  });
}

}  // namespace plumbline
