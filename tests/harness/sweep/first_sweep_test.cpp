// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/first_sweep.hpp"

#include "support/error.hpp"
#include "support/shell.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

const std::string one = "python train.py";

std::string candidate_of(const std::string& line, std::optional<std::int64_t> ranks = {}) {
  return shell_command(first_sweep(shell_words(one), shell_words(line), ranks).candidate);
}

TEST(FirstSweep, PutsPlaceholdersInPlaceOrAddsThem) {
  const FirstSweep sweep =
      first_sweep(shell_words("python train.py --record=here --level full"),
                  shell_words("torchrun --nproc-per-node=4 train.py --schedule GPipe --record out"), {});

  EXPECT_THAT(sweep.reference, ElementsAre("python", "train.py", "--record={record}", "--level", "{level}",
                                           "--norms-from", "{norms_from}"));
  EXPECT_THAT(sweep.candidate, ElementsAre("torchrun", "--master-port={port}", "--nproc-per-node={world}", "train.py",
                                           "--schedule", "{schedule}", "--record", "{record}", "--level", "{level}"));
  EXPECT_THAT(sweep.world_sizes, ElementsAre(4));
  EXPECT_THAT(sweep.schedules, ElementsAre("GPipe"));
}

TEST(FirstSweep, FindsTheNumberOfRanksOfEachLauncher) {
  EXPECT_THAT(candidate_of("mpirun -np 2 ./train -n 5"), StartsWith("mpirun -np '{world}' ./train -n 5 "));
  EXPECT_THAT(candidate_of("python -m torch.distributed.run --standalone --nproc_per_node 2 train.py"),
              StartsWith("python -m torch.distributed.run --standalone --nproc_per_node '{world}' train.py "));
  EXPECT_THAT(candidate_of("./two.sh", 2), StartsWith("./two.sh --record "));
  EXPECT_THAT(candidate_of("./some.sh {world}"), StartsWith("./some.sh '{world}' --record "));
  for (const std::string unknown : {"./two.sh", "./train -n 5", "torchrun --nproc-per-node=gpu train.py"})
    EXPECT_THAT(error_of<InputError>([&] { candidate_of(unknown); }), HasSubstr("give --ranks N")) << unknown;
}

TEST(FirstSweep, OptionsThatATrainerLacksAreRemovedFromBothCommands) {
  FirstSweep sweep = first_sweep(shell_words(one), shell_words("./two.sh"), 2);

  EXPECT_TRUE(remove_option(sweep, "--level"));
  EXPECT_FALSE(remove_option(sweep, "--level"));
  EXPECT_THAT(sweep.reference,
              ElementsAre("python", "train.py", "--record", "{record}", "--norms-from", "{norms_from}"));
  EXPECT_THAT(sweep.candidate, ElementsAre("./two.sh", "--record", "{record}"));
}

TEST(FirstFiles, FitTheText) {
  const TemporaryFolder folder;
  const auto run = [&](std::size_t bytes) {
    return first_files_for_text(folder.file("text.txt", std::string(bytes, 'x'))).at("run.toml");
  };

  EXPECT_THAT(run(100000), HasSubstr("lengths = [64, 32, 64, 1]"));
  EXPECT_THAT(run(65), HasSubstr("lengths = [8, 4, 8, 1]"));
  EXPECT_THAT(error_of<InputError>([&] { run(64); }), HasSubstr("has 64 bytes; a first sweep needs 65 or more"));
  EXPECT_THAT(error_of<InputError>([&] { first_files_for_text(folder / "none.txt"); }), HasSubstr("no such file"));
}

}  // namespace
}  // namespace plumbline::testing
