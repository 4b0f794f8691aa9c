// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace plumbline {

/// A token with this label has no loss: PyTorch's ignore_index.
inline constexpr std::int64_t ignored_label = -100;

}  // namespace plumbline
