// SPDX-License-Identifier: BSD-3-Clause
// Cases whose run is stopped and resumed.
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class RunOfTwoParts : public RunSweep {
 protected:
  RunOfTwoParts() {
    folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n[train]\nsteps = 5\n");
    sweep_file(
        "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nschedule = \"afab\"\nresume_at = 3\nresume_world = 1\n"
        "resume_schedule = \"1f1b\"\n");
  }
  static constexpr const char* id = "a-1f1b-w1-resumed-at-3-from-afab-w2";
  const fs::path begun_ = folder_ / "out/launches" / ("begun-" + std::string(id));
};

TEST_F(RunOfTwoParts, TheFirstStopsAndTheSecondResumesItsCheckpointAndIsJudged) {
  behave("case $record in */begun-*) mkdir -p $5/step-00000003; echo kept > $5/step-00000003/model ;; esac\n");

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-reference a", "plumbline-pipeline record",
                                   std::string("plumbline-pipeline ") + id));
  const std::string begun = bytes_of(begun_ / "command.txt");
  EXPECT_THAT(begun, AllOf(HasSubstr("fake-mpirun -n 2"), HasSubstr("--stop-after 3"), HasSubstr("--checkpoint")));
  EXPECT_THAT(bytes_of(begun_ / "run.toml"), HasSubstr("afab"));
  const std::string command = bytes_of(folder_ / "out/launches" / id / "command.txt");
  EXPECT_THAT(command, AllOf(HasSubstr("fake-mpirun -n 1"), HasSubstr("--resume"), HasSubstr("step-00000003")));
  ASSERT_THAT(judged_, SizeIs(1));
  EXPECT_EQ(judged_[0].request->first_step, 3);
  EXPECT_EQ(judged_[0].reference_request->first_step, 0);
  EXPECT_FALSE(fs::exists(begun_ / "checkpoints")) << "it is as large as the model";
}

TEST_F(RunOfTwoParts, AFailedFirstPartFailsTheCaseWithItsMessage) {
  behave("case $record in */begun-*) page $record $me 1 -1 ${me}B3; exit 1 ;; esac\n");

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  ASSERT_FALSE(judged_.empty());
  EXPECT_EQ(judged_[0].launch->exit_code, 1);
  EXPECT_THAT(judged_[0].launch->words, HasSubstr("the first part of the run failed"));
  EXPECT_FALSE(judged_[0].launch->culprit_rank) << "a rank of another launch than the one that is judged";
  EXPECT_FALSE(judged_[0].launch->started);
  EXPECT_EQ(to_json(read_launch_finding(folder_ / "out/launches" / id / "finding.json")), to_json(*judged_[0].launch));
}

TEST_F(RunOfTwoParts, TheCheckpointStaysIfTheSecondPartFails) {
  behave("case $record in */begun-*) mkdir -p $5/step-00000003 ;; *a-1f1b*) exit 1 ;; esac\n");

  EXPECT_FALSE(run().verdict.holds);

  EXPECT_TRUE(fs::exists(begun_ / "checkpoints/step-00000003")) << "to go on from by hand";
}

TEST_F(RunSweep, TheReferenceMayMakeTheFirstPart) {
  folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n[train]\nsteps = 5\n");
  sweep_file(
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 1\nschedule = \"sequential\"\nresume_at = 2\nresume_world = 3\n"
      "resume_schedule = \"1f1b\"\n");
  const std::string id = "a-1f1b-w3-resumed-at-2-from-sequential-w1";

  EXPECT_TRUE(run().verdict.holds);

  const fs::path begun = folder_ / "out/launches" / ("begun-" + id);
  EXPECT_THAT(bytes_of(begun / "command.txt"),
              AllOf(HasSubstr("plumbline-reference"), HasSubstr("--stop-after 2"), Not(HasSubstr("mpirun"))));
  EXPECT_THAT(bytes_of(begun / "run.toml"), Not(HasSubstr("sequential")));
  EXPECT_THAT(bytes_of(folder_ / "out/launches" / id / "command.txt"), HasSubstr("fake-mpirun -n 3"));
}

TEST_F(RunSweep, TheReferenceRunsAFirstPartOnlyOnOneRank) {
  folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n[train]\nsteps = 5\n");
  const auto refused = [&](const std::string& cell) {
    sweep_file("[[cell]]\nrun = \"a.toml\"\nschedule = \"sequential\"\n" + cell);
    return error_of<InputError>([&] { read_sweep_file(options_.sweep_file); });
  };
  EXPECT_THAT(refused("world_size = 2\nresume_at = 2\nresume_schedule = \"1f1b\"\n"), HasSubstr("runs on 1 rank"));
  EXPECT_THAT(refused("world_size = 1\nresume_at = 2\n"), HasSubstr("resume_schedule"));
  EXPECT_THAT(refused("world_size = 1\n"), HasSubstr("sequential"));
}

}  // namespace
}  // namespace plumbline::testing
