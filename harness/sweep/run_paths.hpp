// SPDX-License-Identifier: BSD-3-Clause
// The files that a run file names.
#pragma once

#include <functional>
#include <string>

#include "support/toml_library.hpp"

namespace plumbline {

/// Puts `change(path)` in the place of every path of model and data in a run file; of texts alone, what is none the
/// trainer names.
void change_paths(toml::table& run, const std::function<std::string(const std::string&)>& change);

}  // namespace plumbline
