// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "harness/sweep/sweep_options.hpp"
#include "support/shell.hpp"

namespace plumbline::testing {
namespace {

SweepOptions options_of_a_sweep() {
  SweepOptions options;
  options.sweep_file = "small.toml";
  return options;
}

TEST(ResumeCommand, HasAllOptionsOfTheSweep) {
  SweepOptions options = options_of_a_sweep();
  options.cells = {"a-1f1b-w2", "b-1f1b-w2"};
  options.keep_failures = true;
  options.other_trainers = true;
  options.trainers = "build/bin";
  options.jobs = 2;
  options.shard = Shard{1, 3};

  EXPECT_EQ(resume_command(options, "/out"),
            "plumbline sweep small.toml --cells a-1f1b-w2 --cells b-1f1b-w2 --keep failures "
            "--trainers build/bin --jobs 2 --shard 1/3 --out /out --resume");
}

TEST(ResumeCommand, HasASingleOption) {
  SweepOptions options = options_of_a_sweep();
  options.keep_failures = true;
  EXPECT_EQ(resume_command(options, "out"), "plumbline sweep small.toml --keep failures --out out --resume");

  options = options_of_a_sweep();
  options.other_trainers = true;
  options.trainers = "build/bin";
  EXPECT_EQ(resume_command(options, "out"), "plumbline sweep small.toml --trainers build/bin --out out --resume");
}

TEST(CommandOfACell, WritesToAFolderNextToTheSweeps) {
  SweepOptions options = options_of_a_sweep();
  options.cells = {"b-1f1b-w2"};  // what else was chosen is not run again
  options.jobs = 2;
  const std::string command = "plumbline sweep small.toml --cells a-1f1b-w2";
  EXPECT_EQ(command_of_cell(options, "a-1f1b-w2"), command);

  for (const std::string out : {"my/out", "my/out/"}) {
    options.out = out;
    EXPECT_EQ(command_of_cell(options, "a-1f1b-w2"), command + " --out my/out-a-1f1b-w2");
  }
  options.sweep_file = "it's a $place/small.toml";
  options.other_trainers = true;
  options.trainers = "a place";
  EXPECT_EQ(command_of_cell(options, "a-1f1b-w2"), "plumbline sweep " + shell_word("it's a $place/small.toml") +
                                                       " --cells a-1f1b-w2 --trainers 'a place' --out "
                                                       "my/out-a-1f1b-w2");
}

}  // namespace
}  // namespace plumbline::testing
