// SPDX-License-Identifier: BSD-3-Clause
// The keys of the run file: one row each. run_file.cpp reads them, docs/schemas/run.schema.json and docs/run-file.md
// are made from them.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/toml_keys.hpp"
#include "training/run_file.hpp"

namespace plumbline {

const std::vector<std::string>& known_optimizers();

/// The keys of [`table`].
const std::vector<KeyOf<RunFile>>& run_keys(const std::string& table);

/// Of the file: `name` and the tables, with their keys.
const std::vector<TomlKey>& run_file_keys();

/// For editors: docs/schemas/run.schema.json.
Json run_file_schema();

}  // namespace plumbline
