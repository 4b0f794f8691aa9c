// SPDX-License-Identifier: BSD-3-Clause
// Paths within a run file.
#pragma once

#include <functional>
#include <string>

#include "support/toml_library.hpp"

namespace plumbline {

/// Replaces every path of model and data in a run file by `change(path)`. Skips values that are no text, which the
/// trainer reports.
void change_paths(toml::table& run, const std::function<std::string(const std::string&)>& change);

}  // namespace plumbline
