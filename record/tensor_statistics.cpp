// SPDX-License-Identifier: BSD-3-Clause
#include "record/tensor_statistics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "support/elements.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

template <typename Sum>
TensorStatistics statistics_of(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  if (dtype_size(dtype) * static_cast<std::size_t>(element_count(shape)) != bytes.size())
    throw std::logic_error(fmt::format("{} [{}] has {} bytes", dtype, shape_text(shape), bytes.size()));
  TensorStatistics found;
  const std::int64_t width = shape.size() == 2 ? shape[1] : 0;
  if (shape.size() == 2) found.nonzero_rows = 0;
  Sum squares = 0, row_squares = 0;  // by row: one sum over all elements of a large embedding would lose its small ones
  double largest = 0;
  std::int64_t in_row = 0, column = 0;
  const bool numbers = for_each_number(dtype, bytes, [&](double value) {
    const int nonzero = value != 0 ? 1 : 0;
    row_squares += static_cast<Sum>(value) * static_cast<Sum>(value);
    largest = std::abs(value) > largest ? std::abs(value) : largest;
    found.nonzero += nonzero;
    found.nan += std::isnan(value) ? 1 : 0;
    found.inf += std::isinf(value) ? 1 : 0;
    in_row += nonzero;
    if (++column != width) return;
    *found.nonzero_rows += in_row > 0 ? 1 : 0;
    in_row = column = 0;
    squares += std::exchange(row_squares, 0);
  });
  if (!numbers) throw std::logic_error("no statistics of " + dtype);
  found.l2 = static_cast<double>(std::sqrt(squares + row_squares));
  found.max_abs = found.nan > 0 ? std::nanf("") : static_cast<float>(largest);
  return found;
}

}  // namespace

TensorStatistics tensor_statistics(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  return statistics_of<double>(dtype, shape, bytes);
}

TensorStatistics wide_statistics(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  return statistics_of<long double>(dtype, shape, bytes);
}

}  // namespace plumbline
