// SPDX-License-Identifier: BSD-3-Clause
// The dtypes of a run as LibTorch types.
#pragma once

#include <c10/core/ScalarType.h>

#include "record/precision.hpp"
#include "training/run_file.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

inline bool is_mixed(const TrainSettings& train) {
  return train.dtype == mixed_precision;
}

/// Of parameters, gradients and optimizer state.
inline at::ScalarType trained_type(const TrainSettings& train) {
  return parse_dtype(trained_dtype(train.dtype));
}

/// Of the computation, and so of activations and messages.
inline at::ScalarType computed_type(const TrainSettings& train) {
  return parse_dtype(computed_dtype(train.dtype));
}

}  // namespace plumbline
