// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/relative_error.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "support/error.hpp"

namespace plumbline::judging {
namespace {

template <typename Number>
double read_as(const std::byte* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return static_cast<double>(number);
}

double read_bfloat16(const std::byte* bytes) {
  std::uint16_t bits;  // the upper half of a float32
  std::memcpy(&bits, bytes, sizeof bits);
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16U));
}

using Reader = double (*)(const std::byte*);

Reader reader_of(const SafetensorsEntry& tensor) {
  if (tensor.dtype == "float32") return read_as<float>;
  if (tensor.dtype == "float64") return read_as<double>;
  if (tensor.dtype == "bfloat16") return read_bfloat16;
  throw InputError("a dump holds a tensor of dtype " + tensor.dtype +
                   ", of which no rounding error is measured; float32, float64 and bfloat16 have one");
}

double ratio(double error, double size) {
  return size == 0 ? error : error / size;
}

}  // namespace

double relative_error(const SafetensorsEntry& got, const SafetensorsEntry& truth) {
  if (got.shape != truth.shape) throw InputError("a dumped tensor has another shape than its shadow");
  const Reader read_got = reader_of(got), read_truth = reader_of(truth);
  const std::size_t got_size = dtype_size(got.dtype), truth_size = dtype_size(truth.dtype);
  const std::size_t count = got.bytes.size() / got_size;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double true_value = read_truth(truth.bytes.data() + i * truth_size);
    const double difference = read_got(got.bytes.data() + i * got_size) - true_value;
    error += difference * difference;
    size += true_value * true_value;
  }
  return ratio(std::sqrt(error), std::sqrt(size));
}

double relative_error(double got, double truth) {
  return ratio(std::abs(got - truth), std::abs(truth));
}

bool all_zero(const SafetensorsEntry& tensor) {
  const Reader read = reader_of(tensor);
  const std::size_t size = dtype_size(tensor.dtype);
  for (std::size_t at = 0; at < tensor.bytes.size(); at += size) {
    if (read(tensor.bytes.data() + at) != 0) return false;
  }
  return true;
}

}  // namespace plumbline::judging
