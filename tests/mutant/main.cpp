// SPDX-License-Identifier: BSD-3-Clause
// plumbline-mutant: the pipeline trainer with one injected fault, to show that the checks can fail.
#include <cstdio>
#include <string>
#include <vector>

#include "pipeline/program.hpp"
#include "support/error.hpp"
#include "tests/mutant/fault.hpp"
#include "tests/mutant/planted.hpp"
#include "training/environment.hpp"

namespace {

int run(int argc, char** argv) {
  std::string text;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--fault" && i + 1 < argc) {
      text = argv[++i];
    } else {
      rest.push_back(argv[i]);
    }
  }
  if (text.empty()) {
    std::puts("plumbline-mutant --fault ID[@rank=R,microbatch=M,step=K] <options of plumbline-pipeline>");
    for (const auto& fault : plumbline::mutant::known_faults()) std::printf("  %-5s %s\n", fault.id, fault.what);
    return static_cast<int>(plumbline::ExitCode::bad_input);
  }
  const plumbline::mutant::Fault fault = plumbline::mutant::parse_fault(text);
  plumbline::mutant::plant(fault);
  return plumbline::run_pipeline_program(static_cast<int>(rest.size()), rest.data());
}

}  // namespace

int main(int argc, char** argv) {
  return plumbline::exit_quickly(plumbline::run_main("plumbline-mutant", [&] { return run(argc, argv); }));
}
