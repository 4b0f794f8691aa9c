// SPDX-License-Identifier: BSD-3-Clause
// A tensor as a row of tensors.csv, from its elements in host memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "record/rows.hpp"

namespace plumbline {

/// Fills in all of a row except step, kind, name and stage; `l2` is accumulated in float64. `bytes` are contiguous,
/// need not be aligned, and must have the size that dtype and shape give (std::logic_error, also for a dtype that
/// records do not have).
TensorRow described(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes);

}  // namespace plumbline
