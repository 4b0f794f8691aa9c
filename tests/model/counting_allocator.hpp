// SPDX-License-Identifier: BSD-3-Clause
// Counts the bytes of live CPU tensors, for tests of what is saved for the backward pass.
#pragma once

#include <cstdint>

namespace plumbline::testing {

/// Installs a counting allocator (once) and returns the bytes of live tensors allocated since then.
std::int64_t live_tensor_bytes();

}  // namespace plumbline::testing
