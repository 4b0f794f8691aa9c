// SPDX-License-Identifier: BSD-3-Clause
// Digest and statistics of a tensor in one pass: each element is read from memory once. Uses the standard library and
// xxHash alone, so that Python can load it (python_module.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

enum class ElementType { float32, float64, bfloat16, float16, int64 };
/// nullopt for a dtype without statistics.
std::optional<ElementType> element_type(std::string_view dtype);

/// What the elements add up to. Without its sign, the bits of a float ascend with its magnitude: `largest` are the bits
/// of the largest one.
struct TensorSums {
  ElementType type = ElementType::float32;
  bool counted = true;
  std::size_t row = 0;
  std::size_t column = 0;  ///< of the next element
  bool in_row = false;     ///< whether the row that continues has a nonzero element
  double squares = 0;
  std::uint64_t largest = 0, nonzero = 0, nonzero_rows = 0, nan = 0, inf = 0;

  double l2() const;
  float max_abs() const;  ///< NaN if any element is
};

class TensorMeasure {
 public:
  /// `row`: elements of a row of a matrix; 0: no matrix. `prefix`: what is hashed before the elements. Without
  /// `counted` there is only a digest.
  TensorMeasure(ElementType type, std::size_t row, std::string_view prefix, bool counted = true);
  ~TensorMeasure();
  TensorMeasure(const TensorMeasure&) = delete;
  TensorMeasure& operator=(const TensorMeasure&) = delete;

  /// The next elements in row-major order, which need not be aligned.
  void add(const void* elements, std::size_t bytes);
  const TensorSums& sums() const;
  std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plumbline
