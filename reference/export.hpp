// SPDX-License-Identifier: BSD-3-Clause
// Exports a run's initial weights and data for another trainer (docs/data.md).
#pragma once

#include <filesystem>

#include "reference/trainer.hpp"

namespace plumbline {

/// Does not train. Writes data.safetensors, model.safetensors, config.json and accumulation.csv into `folder`, which
/// must be new or empty. Uses run file, text and accumulation of `options`. Throws InputError for a run that could not
/// be trained, and SystemError if the folder cannot be written.
void export_run(const ReferenceOptions& options, const std::filesystem::path& folder);

}  // namespace plumbline
