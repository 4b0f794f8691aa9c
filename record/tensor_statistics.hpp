// SPDX-License-Identifier: BSD-3-Clause
// The statistics in a row of tensors.csv, computed from elements in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "record/rows.hpp"

namespace plumbline {

struct TensorStatistics {
  double l2 = 0;  ///< accumulated in float64
  float max_abs = 0;
  std::int64_t nonzero = 0;  ///< includes NaN
  std::optional<std::int64_t> nonzero_rows;
  std::int64_t nan = 0, inf = 0;
};

/// `bytes` are contiguous, need not be aligned, and must have the size that dtype and shape give (std::logic_error).
/// dtypes: float32, float64, bfloat16, float16.
TensorStatistics tensor_statistics(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes);
/// The same with `l2` accumulated in long double, for a judge.
TensorStatistics wide_statistics(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes);

}  // namespace plumbline
