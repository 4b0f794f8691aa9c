// The pipeline trainer's command line, apart from main() so that the fault programs share it.
#pragma once

#include "pipeline/launch.hpp"

namespace plumbline {

/// Parses the command line and trains. Returns the exit code; throws Error for what rank 0 is to report.
int run_pipeline_program(int argc, char** argv, TransportsFactory make_transports = {});

}  // namespace plumbline
