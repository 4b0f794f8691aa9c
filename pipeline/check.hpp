// SPDX-License-Identifier: BSD-3-Clause
// Implements plumbline-pipeline RUN.toml --check.
#pragma once

#include "pipeline/launch.hpp"

namespace plumbline {

/// Checks whether the run could start on this machine with `options.world` ranks (default: the launcher's number, else
/// 1). Does not train and needs no launcher. Returns the exit code.
int check_pipeline(const PipelineOptions& options, bool as_json);

}  // namespace plumbline
