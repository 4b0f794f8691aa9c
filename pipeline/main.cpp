// SPDX-License-Identifier: BSD-3-Clause
// plumbline-pipeline: trains on the ranks of a pipeline.
#include "pipeline/program.hpp"
#include "support/error.hpp"
#include "training/environment.hpp"

int main(int argc, char** argv) {
  return plumbline::exit_quickly(
      plumbline::run_main("plumbline-pipeline", [&] { return plumbline::run_pipeline_program(argc, argv); }));
}
