// SPDX-License-Identifier: BSD-3-Clause
// Runs of a sweep that its trainers would refuse, checked before anything is started.
#include "harness/sweep/prepared_sweep.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class PreflightOfASweep : public RunSweep {
 protected:
  Preflight asked() { return ask_trainers(prepare_sweep(options_), options_.trainers, 2); }
  /// Lines for behave(): an answer to --check as the trainers give it.
  static std::string answers(const std::string& when, int code, const std::string& message) {
    return "[ \"$2\" = --check ] && " + when +
           " && { echo '{\"schema\": \"plumbline-check/1\", \"exit_code\": " + std::to_string(code) +
           ", \"message\": \"" + message + "\"}'; exit " + std::to_string(code) + "; }\n";
  }
};

TEST_F(PreflightOfASweep, AsksAboutEachDistinctRunOnce) {
  behave("[ \"$2\" = --check ] && { echo \"$(basename $0) $*\" >> $base/asked; }\n" + answers("true", 0, ""));

  const Preflight preflight = asked();

  EXPECT_EQ(preflight.asked, 6U) << "two references, and two runs on 1 and 2 ranks";
  EXPECT_THAT(preflight.refused, IsEmpty());
  const std::string questions = bytes_of(folder_ / "asked");
  EXPECT_THAT(questions, HasSubstr(" --check --json --ranks 2\n"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(PreflightOfASweep, ARefusalHasTheTrainersWordsOfTheUsersFileAndItsExitCode) {
  const std::string is_pipeline = "[ $(basename $0) = plumbline-pipeline ]";
  behave(answers(is_pipeline + " && grep -q 'lengths.*9' $run", 2, "'$run':2:1: no such key") +
         answers(is_pipeline + " && [ $5 = 2 ]", 3, "too little memory") +
         "[ \"$2\" = --check ] && [ $(basename $0) = plumbline-reference ] && { grep -q 'lengths.*9' $run || exit 0; "
         "echo 'plumbline-reference: no --check' >&2; exit 2; }\n" +
         answers("true", 0, ""));

  const Preflight preflight = asked();

  std::string words;
  for (const RefusedRun& each : preflight.refused) words += each.words + "\n";
  ASSERT_EQ(preflight.refused.size(), 4U) << words;
  EXPECT_THAT(preflight.refused[0].ids, ElementsAre("reference-b"));
  EXPECT_THAT(preflight.refused[0].words, HasSubstr("b.toml: plumbline-reference: no --check"));
  EXPECT_THAT(preflight.refused[1].ids, ElementsAre("a-1f1b-w2"));
  EXPECT_EQ(preflight.refused[1].exit_code, 3);
  EXPECT_THAT(preflight.refused[2].ids, ElementsAre("b-1f1b-w1"));
  EXPECT_EQ(preflight.refused[2].exit_code, 2);
  EXPECT_THAT(preflight.refused[2].words, AllOf(HasSubstr("b.toml: no such key"), Not(HasSubstr("run.toml"))));
}

TEST_F(PreflightOfASweep, ASweepNoCellOfWhichCouldRunForTheMachinesSakeIsTheMachinesFailure) {
  const std::string no_memory = "{ echo \"$(basename $0): no memory\" >&2; exit 3; }\n";
  for (const std::string where : {"reference", "pipeline"}) {
    options_.out = folder_ / where;
    behave("[ $(basename $0) = plumbline-" + where + " ] && " + no_memory);

    EXPECT_THAT(
        error_of<SystemError>([&] { run(); }),
        AllOf(HasSubstr("no case of the sweep could run on this machine: a-1f1b-w1: "), HasSubstr("no memory")));
    EXPECT_FALSE(read_verdict(*options_.out / "verdict.json").holds);
  }
  options_.out = folder_ / "in-part";
  behave("[ $(basename $record) = b-1f1b-w2 ] && " + no_memory);
  EXPECT_FALSE(run().verdict.holds);
}

}  // namespace
}  // namespace plumbline::testing
