// SPDX-License-Identifier: BSD-3-Clause
// What one run computed and took, by its record.
#pragma once

#include <filesystem>
#include <string>

#include "harness/baseline/baseline.hpp"

namespace plumbline {

/// Reads the record once, step by step. Without parameters where its level leaves out their digests. `asked` and
/// `outcomes` stay empty: they are the verdict's. Throws InputError where it cannot be read.
RunBaseline take_run(const std::filesystem::path& folder, const std::string& id);

}  // namespace plumbline
