// SPDX-License-Identifier: BSD-3-Clause
// The keys of the sweep file: one row each. Its readers, docs/schemas/sweep.schema.json and docs/sweep-file.md use
// them.
#pragma once

#include <vector>

#include "harness/sweep/sweep_file.hpp"
#include "support/json.hpp"
#include "support/toml_keys.hpp"

namespace plumbline {

/// The keys that are valid only with run files, and only with commands.
const std::vector<KeyOf<SweepFile>>& run_file_sweep_keys();
const std::vector<KeyOf<SweepFile>>& command_sweep_keys();
/// The keys of the commands' request: placeholders that are compared with the record. `device` is valid with run files,
/// too.
const std::vector<TomlKey>& requested_keys();
/// All keys of a sweep file.
const std::vector<KeyOf<SweepFile>>& sweep_keys();
/// The keys of a [[cell]] with a run file.
const std::vector<TomlKey>& cell_keys();

/// For editors: docs/schemas/sweep.schema.json.
Json sweep_file_schema();

}  // namespace plumbline
