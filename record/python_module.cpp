// SPDX-License-Identifier: BSD-3-Clause
// plumbline-measure.so: the C functions that python/plumbline/native.py calls. Their names have a number, which changes
// with their parameters.
#include <cstring>
#include <exception>

#include "record/tensor_measure.hpp"

using plumbline::TensorMeasure;

extern "C" {

struct PlumblineFound {
  double l2;
  std::uint64_t nonzero, nonzero_rows, nan, inf;
  float max_abs;
  char digest[33];
};

/// Begins a tensor of this dtype; the others are those of TensorMeasure. Returns null if the dtype has no statistics,
/// or memory is full.
[[gnu::visibility("default")]] void* plumbline_measure1_begin(const char* dtype, std::size_t row, const char* prefix,
                                                              int counted) noexcept try {
  const auto type = plumbline::element_type(dtype);
  return type ? new TensorMeasure(*type, row, prefix, counted != 0) : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

[[gnu::visibility("default")]] void plumbline_measure1_add(void* measure, const void* elements,
                                                           std::size_t bytes) noexcept {
  static_cast<TensorMeasure*>(measure)->add(elements, bytes);
}

/// Fills `found` and frees `measure`.
[[gnu::visibility("default")]] void plumbline_measure1_end(void* measure, PlumblineFound* found) noexcept {
  const std::unique_ptr<TensorMeasure> owned(static_cast<TensorMeasure*>(measure));
  const plumbline::TensorSums& sums = owned->sums();
  *found = {sums.l2(), sums.nonzero, sums.nonzero_rows, sums.nan, sums.inf, sums.max_abs(), {}};
  std::memcpy(found->digest, owned->digest().data(), sizeof found->digest - 1);
}

/// The three at once, of a tensor that lies in one piece. Returns 0, or 1 where plumbline_measure1_begin returns null.
[[gnu::visibility("default")]] int plumbline_measure1_whole(const char* dtype, std::size_t row, const char* prefix,
                                                            int counted, const void* elements, std::size_t bytes,
                                                            PlumblineFound* found) noexcept {
  void* measure = plumbline_measure1_begin(dtype, row, prefix, counted);
  if (measure == nullptr) return 1;
  plumbline_measure1_add(measure, elements, bytes);
  plumbline_measure1_end(measure, found);
  return 0;
}
}
