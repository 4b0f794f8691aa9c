// SPDX-License-Identifier: BSD-3-Clause
#include "training/tensor_record.hpp"

#include <ATen/Dispatch.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "record/digest.hpp"
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

std::string digest_contiguous(const at::Tensor& tensor) {
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  return tensor_digest(dtype_name(tensor.scalar_type()), tensor.sizes().vec(), bytes);
}

struct Statistics {
  double sum_of_squares = 0;
  double max_abs = 0;
  std::int64_t nonzero = 0;
  std::int64_t nonzero_rows = 0;
  std::int64_t nan = 0;
  std::int64_t inf = 0;
};

template <typename Number>
Statistics survey(const at::Tensor& tensor, std::int64_t rows) {
  Statistics all;
  const auto* next = tensor.const_data_ptr<Number>();
  const std::int64_t width = rows == 0 ? 0 : tensor.numel() / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t nonzero = 0;
    double squares = 0;  // of a row: one sum over all elements of a large embedding would lose its small ones
    for (std::int64_t column = 0; column < width; ++column, ++next) {
      const auto value = static_cast<double>(*next);
      const double size = std::abs(value);
      squares += value * value;
      all.max_abs = size > all.max_abs ? size : all.max_abs;
      nonzero += value != 0 ? 1 : 0;
      all.nan += std::isnan(value) ? 1 : 0;
      all.inf += std::isinf(value) ? 1 : 0;
    }
    all.sum_of_squares += squares;
    all.nonzero += nonzero;
    all.nonzero_rows += nonzero > 0 ? 1 : 0;
  }
  return all;
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
  return digest_contiguous(contiguous(tensor));
}

TensorRow describe(const at::Tensor& tensor) {
  const at::Tensor flat = contiguous(tensor);
  const bool matrix = flat.dim() == 2;
  TensorRow row;
  row.dtype = dtype_name(flat.scalar_type());
  const Statistics found = AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, flat.scalar_type(), "survey", [&] {
    return survey<scalar_t>(flat, matrix ? flat.size(0) : 1);
  });
  row.shape = flat.sizes().vec();
  row.digest = digest_contiguous(flat);
  row.l2 = std::sqrt(found.sum_of_squares);
  row.max_abs = found.nan > 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(found.max_abs);
  row.nonzero = found.nonzero;
  row.nonzero_rows = matrix ? std::optional(found.nonzero_rows) : std::nullopt;
  row.nan = found.nan;
  row.inf = found.inf;
  return row;
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
    return std::span(static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes());
  });
}

}  // namespace plumbline
