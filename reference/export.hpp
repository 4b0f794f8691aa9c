// SPDX-License-Identifier: BSD-3-Clause
// Writes down what a run starts from and feeds, for a trainer that is not ours (docs/data.md).
#pragma once

#include <filesystem>

#include "reference/trainer.hpp"

namespace plumbline {

/// Trains nothing. Writes data.safetensors, model.safetensors, config.json and accumulation.csv into `folder`, which
/// must be new or empty. Of `options` it takes run file, text and accumulation. Throws InputError for what could not be
/// trained either, and SystemError where the folder cannot be written.
void export_run(const ReferenceOptions& options, const std::filesystem::path& folder);

}  // namespace plumbline
