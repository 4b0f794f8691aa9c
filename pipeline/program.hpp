// SPDX-License-Identifier: BSD-3-Clause
// The pipeline trainer's command line, separate from main() so that the fault-injection programs share it.
#pragma once

#include "pipeline/launch.hpp"

namespace plumbline {

/// Parses the command line and trains. Returns the exit code; throws Error for what rank 0 is to report.
int run_pipeline_program(int argc, char** argv, TransportsFactory make_transports = {});

}  // namespace plumbline
