// SPDX-License-Identifier: BSD-3-Clause
// Memory that a process loses in each step and that is no tensor, in a sweep of real processes.
#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/judge/judge.hpp"
#include "harness/sweep/sweep.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A sweep of one cell on two ranks by the trainer that this shell command starts; `$@` is what it is given.
CheckResult memory_of_cell(const std::string& trainer) {
  const testing::TemporaryFolder folder;
  fs::permissions(folder.file("plumbline-pipeline", "#!/bin/bash\nbin=" PLUMBLINE_BIN "\n" + trainer + "\n"),
                  fs::perms::owner_all);
  fs::create_symlink(fs::path(PLUMBLINE_BIN) / "plumbline-reference", folder / "plumbline-reference");
  SweepOptions options;
  options.sweep_file = folder.file(
      "one.toml", "run = [\"" PLUMBLINE_FIXTURES "/runs/quick.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
  options.trainers = folder.path();
  options.out = folder / "out";
  SweepServices services;
  services.judge = judge_cell;
  services.write_reports = [](const fs::path&) {};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(std::fopen((folder / "log").c_str(), "w"), std::fclose);
  const SweepResult result = run_sweep(options, services, log.get());
  for (const CellVerdict& cell : result.verdict.cells) {
    for (const CheckResult& check : cell.checks) {
      if (check.name == "memory") return check;
    }
  }
  return {};
}

const std::string right = "exec $bin/plumbline-pipeline \"$@\"";

TEST(ProcessCanaries, ATrainerThatTakesNoMoreHolds) {
  const CheckResult memory = memory_of_cell(right);

  EXPECT_EQ(to_text(memory.outcome), "holds") << memory.reason;
  EXPECT_EQ(memory.compared.at("process_growths"), 2);
  EXPECT_THAT(memory.measured, HasSubstr("private memory of a process"));
}

TEST(ProcessCanaries, M1MallocThatIsLostInEachStepIsRed) {
  const CheckResult memory = memory_of_cell("exec $bin/plumbline-mutant --fault M1@rank=1 \"$@\"");

  EXPECT_EQ(to_text(memory.outcome), "differs") << memory.reason;
  EXPECT_THAT(memory.reason, HasSubstr("candidate: step 1, rank 1, private memory"));
}

}  // namespace
}  // namespace plumbline
