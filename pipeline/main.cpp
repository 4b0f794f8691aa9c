// SPDX-License-Identifier: BSD-3-Clause
// plumbline-pipeline: trains on the ranks of a pipeline.
#include <filesystem>
#include <string>

#include "pipeline/program.hpp"
#include "support/error.hpp"

int main(int argc, char** argv) {
  // plumbline-reference --plan runs this program under its own name.
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "plumbline-pipeline";
  return plumbline::run_main(program, [&] { return plumbline::run_pipeline_program(argc, argv, {}, program); });
}
