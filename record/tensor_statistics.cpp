// SPDX-License-Identifier: BSD-3-Clause
#include "record/tensor_statistics.hpp"

#include "record/digest.hpp"
#include "record/tensor_measure.hpp"

namespace plumbline {

TensorRow described(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  const std::string prefix = digest_prefix(dtype, shape, bytes.size());
  const bool matrix = shape.size() == 2;
  TensorMeasure measure(element_type(dtype).value(), matrix ? static_cast<std::size_t>(shape[1]) : 0, prefix);
  measure.add(bytes.data(), bytes.size());
  const TensorSums& sums = measure.sums();
  TensorRow row;
  row.dtype = dtype;
  row.shape = shape;
  row.digest = measure.digest();
  row.l2 = sums.l2();
  row.max_abs = sums.max_abs();
  row.nonzero = static_cast<std::int64_t>(sums.nonzero);
  if (matrix) row.nonzero_rows = static_cast<std::int64_t>(sums.nonzero_rows);
  row.nan = static_cast<std::int64_t>(sums.nan);
  row.inf = static_cast<std::int64_t>(sums.inf);
  return row;
}

}  // namespace plumbline
