// SPDX-License-Identifier: BSD-3-Clause
// plumbline-pipeline RUN.toml --check.
#pragma once

#include "pipeline/launch.hpp"

namespace plumbline {

/// Whether the run could begin on this machine, on `options.world` ranks (else on as many as a launcher started, else
/// on one); trains nothing, and needs no launcher. Returns the exit code.
int check_pipeline(const PipelineOptions& options, bool as_json);

}  // namespace plumbline
