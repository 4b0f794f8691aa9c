// SPDX-License-Identifier: BSD-3-Clause
// Results and resource use of one run, from its record.
#pragma once

#include <filesystem>
#include <string>

#include "harness/baseline/baseline.hpp"

namespace plumbline {

/// Streams the record once. Without parameters if its level has no digests of them. `asked` and `outcomes` stay empty,
/// because they come from the verdict. Throws InputError if it cannot be read.
RunBaseline take_run(const std::filesystem::path& folder, const std::string& id);

}  // namespace plumbline
