// SPDX-License-Identifier: BSD-3-Clause
// Records of long runs, written at the speed of the disk.
#pragma once

#include <cstdint>
#include <filesystem>

namespace plumbline::testing {

/// Makes the record of a synthetic run one of `steps` steps, even: they are the two steps, repeated, with other
/// numbers, learning rates and times. Returns the number of rows in all tables.
std::int64_t repeat_steps(const std::filesystem::path& record, std::int64_t steps);

}  // namespace plumbline::testing
