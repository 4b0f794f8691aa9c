// SPDX-License-Identifier: BSD-3-Clause
// Counts the bytes of live CPU tensors, for tests of what is kept for the backward.
#pragma once

#include <cstdint>

namespace plumbline::testing {

/// Puts a counting allocator in place (once) and returns the bytes that live tensors made since then hold.
std::int64_t live_tensor_bytes();

}  // namespace plumbline::testing
