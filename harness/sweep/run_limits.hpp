// SPDX-License-Identifier: BSD-3-Clause
// How large a run of a sweep may be.
#pragma once

#include <cstdint>

namespace plumbline {

/// Of a model, as the trainers have it too: each is a unit with a name, and no model comes near.
inline constexpr std::int64_t most_layers = 100000;
inline constexpr std::int64_t largest_world = 1024;

}  // namespace plumbline
