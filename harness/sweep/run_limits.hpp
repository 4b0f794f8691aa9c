// SPDX-License-Identifier: BSD-3-Clause
// Limits of a sweep's runs.
#pragma once

#include <cstdint>

namespace plumbline {

/// Layers of a model, the same limit as in the trainers. Each layer is a named unit; real models are far below it.
inline constexpr std::int64_t most_layers = 100000;
inline constexpr std::int64_t largest_world = 1024;

}  // namespace plumbline
