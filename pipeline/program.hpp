// The pipeline trainer's command line, apart from main() so that the fault programs share it.
#pragma once

#include "pipeline/launch.hpp"
#include "pipeline/seams.hpp"

namespace plumbline {

/// Parses the command line and trains. Returns the exit code; throws Error for what rank 0 is to report.
int run_pipeline_program(int argc, char** argv, const SeamsFactory& make_seams, TransportsFactory make_transports = {});

}  // namespace plumbline
