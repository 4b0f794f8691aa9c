// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/relative_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/error.hpp"

namespace plumbline::judging {
namespace {

std::vector<double> numbers_with_error(const SafetensorsEntry& tensor) {
  if (tensor.dtype != "float32" && tensor.dtype != "float64" && tensor.dtype != "bfloat16")
    throw InputError(
        fmt::format("a dump holds a tensor of dtype {}, whose rounding error is not measured; float32, float64 and "
                    "bfloat16 are supported",
                    tensor.dtype));
  return numbers_of(tensor);
}

double ratio(double error, double size) {
  return size == 0 ? error : error / size;
}

}  // namespace

double relative_error(const SafetensorsEntry& got, const SafetensorsEntry& truth) {
  if (got.shape != truth.shape) throw InputError("a dumped tensor has another shape than its float64 reference");
  const std::vector<double> values = numbers_with_error(got), true_values = numbers_with_error(truth);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = values[i] - true_values[i];
    error += difference * difference;
    size += true_values[i] * true_values[i];
  }
  return ratio(std::sqrt(error), std::sqrt(size));
}

double relative_error(double got, double truth) {
  return ratio(std::abs(got - truth), std::abs(truth));
}

bool all_zero(const SafetensorsEntry& tensor) {
  return std::ranges::all_of(numbers_with_error(tensor), [](double value) { return value == 0; });
}

}  // namespace plumbline::judging
