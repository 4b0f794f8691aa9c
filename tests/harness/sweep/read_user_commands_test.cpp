// SPDX-License-Identifier: BSD-3-Clause
// Sweep files with users' commands, read without starting anything: every valid key is used, and keys that would be
// ignored are refused.
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

class ReadUserCommands : public ::testing::Test {
 protected:
  ReadUserCommands() { program(folder_, "train.sh", "exit 0\n"); }
  SweepFile sweep(const std::string& text) { return read_sweep_file(folder_.file("theirs.toml", text)); }
  UserCommands read(const std::string& text) { return *sweep(text).commands; }
  std::string refusal(const std::string& text) {
    return error_of<InputError>([&] { make_plan(sweep(text)); });
  }
  SweepPlan plan(const std::string& text) { return make_plan(sweep(text)); }
  static std::vector<std::string> ids(const SweepPlan& plan) {
    std::vector<std::string> all;
    for (const auto& cell : plan.cells) all.push_back(cell.plan.id);
    return all;
  }

  const std::string commands_ =
      "reference = [\"./train.sh\", \"{record}\"]\n"
      "candidate = [\"./train.sh\", \"{record}\", \"{world}\"]\n";
  const std::string with_how_ =
      "reference = [\"./train.sh\", \"{record}\"]\n"
      "candidate = [\"./train.sh\", \"{record}\", \"{world}\", \"{how}\"]\n";
  const std::string worlds_ = "world_sizes = [2]\n";
  TemporaryFolder folder_;
};

TEST_F(ReadUserCommands, TheMatrixIsSchedulesTimesWorldsWithAllRequests) {
  const auto commands = read(
      "reference = [\"./train.sh\", \"{record}\", \"{how}\"]\n"
      "candidate = [\"./train.sh\", \"{record}\", \"{world}\"]\n"
      "world_sizes = [2, 4]\nschedules = [\"1f1b\", \"theirs\"]\nsteps = 3\nmicrobatches = 4\nseed = 0\nthreads = 2\n"
      "dtype = \"bfloat16\"\ndevice = \"cuda\"\nlevel = \"dump\"\n[values]\nhow = true\n"
      "[environment]\nA = \"{how}\"\nB = 2\n");

  ASSERT_THAT(commands.cells, SizeIs(4));
  EXPECT_EQ(commands.cells[1].world_size, 4);
  EXPECT_EQ(commands.cells[1].schedule, "1f1b");
  EXPECT_EQ(commands.cells[2].world_size, 2);
  EXPECT_EQ(commands.cells[2].schedule, "theirs");
  EXPECT_THAT(commands.cells[3].reference, ElementsAre("./train.sh", "{record}", "{how}"));
  EXPECT_THAT(commands.cells[3].candidate, ElementsAre("./train.sh", "{record}", "{world}"));
  EXPECT_THAT(commands.cells[3].values,
              ElementsAre(Pair("device", "cuda"), Pair("dtype", "bfloat16"), Pair("how", "true"), Pair("level", "dump"),
                          Pair("microbatches", "4"), Pair("seed", "0"), Pair("steps", "3"), Pair("threads", "2")));
  EXPECT_THAT(commands.cells[3].own, IsEmpty());
  EXPECT_THAT(commands.environment, ElementsAre(Pair("A", "{how}"), Pair("B", "2")));
  EXPECT_EQ(commands.folder, folder_.path());
  EXPECT_FALSE(commands.use_launcher);
}

TEST_F(ReadUserCommands, OfAMeshEveryPlaceHasAPipeline) {
  const auto made = plan(
      "reference = [\"./train.sh\", \"{record}\", \"{world}\", \"{pipeline}\"]\n"
      "candidate = [\"./train.sh\", \"{record}\", \"{world}\", \"{pipeline}\", \"{dp}\", \"{tp}\"]\n"
      "world_sizes = [1, 2]\nmesh = { dp = 2, tp = 3 }\n");

  EXPECT_THAT(ids(made), ElementsAre("w6", "w12"));
  EXPECT_EQ(made.cells[1].plan.world, 12);
  const auto words = [](const PlannedCommand& command) { return started_command(command, {"r", 0, {}}).words; };
  EXPECT_THAT(words(*made.cells[1].command), ElementsAre(HasSubstr("train.sh"), "r", "12", "2", "2", "3"));
  ASSERT_THAT(made.references, SizeIs(1));
  EXPECT_THAT(words(*made.references[0].command), ElementsAre(HasSubstr("train.sh"), "r", "6", "1"));
  const Request asked = make_request(sweep(commands_ + worlds_), made.cells[1]);
  EXPECT_EQ(asked.world_size, 12);
  EXPECT_EQ(asked.mesh, Json({{"dp", 2}, {"tp", 3}}));
}

TEST_F(ReadUserCommands, ImpossibleMeshAxesAreRefused) {
  const auto of = [&](const std::string& axes) { return refusal(commands_ + worlds_ + "mesh = { " + axes + " }\n"); };

  EXPECT_THAT(of("dp = 0"), HasSubstr("0 is not possible; the axes may have 1 to 1024 places in all"));
  EXPECT_THAT(of("dp = 64, tp = 32"), HasSubstr("is not possible; the axes may have 1 to 1024 places"));
  EXPECT_THAT(of("dp = 1024"), HasSubstr("2 is not a world size; it must be between 1 and 1"));
  EXPECT_THAT(of("world = 2"), HasSubstr("world is reserved by plumbline"));
  EXPECT_THAT(refusal(commands_ + worlds_ + "mesh = { dp = 2 }\nvalues = { dp = 2 }\n"),
              HasSubstr("is also a key of values"));
}

TEST_F(ReadUserCommands, WithoutSchedulesTheMatrixIsTheWorlds) {
  const auto commands = read(commands_ + "world_sizes = [1, 2]\n");

  ASSERT_THAT(commands.cells, SizeIs(2));
  EXPECT_FALSE(commands.cells[0].schedule);
}

TEST_F(ReadUserCommands, ACasesCommandsAndValuesOverrideTheFiles) {
  const auto commands = read(with_how_ + "steps = 3\nvalues = { how = \"right\" }\n" +
                             "[[cell]]\nworld_size = 2\n"
                             "[[cell]]\nworld_size = 2\nschedule = \"1f1b\"\nsteps = 5\nseed = 7\nhow = \"else\"\n"
                             "reference = [\"./other.sh\", \"{record}\"]\n"
                             "candidate = [\"./other.sh\", \"{record}\", \"{world}\", \"{how}\"]\n");

  ASSERT_THAT(commands.cells, SizeIs(2));
  EXPECT_FALSE(commands.cells[0].schedule);
  EXPECT_THAT(commands.cells[0].reference, ElementsAre("./train.sh", "{record}"));
  EXPECT_THAT(commands.cells[0].values, ElementsAre(Pair("how", "right"), Pair("steps", "3")));
  EXPECT_THAT(commands.cells[0].own, IsEmpty());
  const CommandCell& own = commands.cells[1];
  EXPECT_EQ(own.schedule, "1f1b");
  EXPECT_THAT(own.reference, ElementsAre("./other.sh", "{record}"));
  EXPECT_THAT(own.candidate, ElementsAre("./other.sh", "{record}", "{world}", "{how}"));
  EXPECT_THAT(own.values, ElementsAre(Pair("how", "else"), Pair("seed", "7"), Pair("steps", "5")));
  EXPECT_THAT(own.own, ElementsAre("steps", "seed", "how"));
}

// A sweep's commands may be given only in its cases.
TEST_F(ReadUserCommands, CommandsOnlyInCasesAreEnough) {
  const std::string both =
      "reference = [\"./train.sh\", \"{record}\"]\ncandidate = [\"./train.sh\", \"{record}\", \"{world}\"]\n";
  EXPECT_TRUE(sweep("[[cell]]\nworld_size = 2\n" + both).commands);
  EXPECT_TRUE(sweep("steps = 3\n[[cell]]\nworld_size = 2\n" + both + "[[cell]]\nworld_size = 4\n" + both).commands)
      << "steps goes with commands";
  EXPECT_THAT(refusal("[[cell]]\nworld_size = 2\nreference = [\"./train.sh\", \"{record}\"]\n"),
              HasSubstr("key candidate: is missing; give the command that trains as a pipeline"));
  EXPECT_THAT(refusal("[[cell]]\nworld_size = 2\ncandidate = [\"./train.sh\", \"{record}\"]\n"),
              HasSubstr("key reference: is missing; give the command that trains on one device"));
  EXPECT_THAT(refusal("reference = [\"./train.sh\", \"{record}\"]\n" + worlds_),
              HasSubstr("key candidate: is missing"));
}

TEST_F(ReadUserCommands, RefusalsAreAsApproved) {
  folder_.file("a.toml", "");
  EXPECT_THAT(refusal(commands_), HasSubstr("nothing to run"));
  expect_answers("command-sweeps.txt", [&](const std::string& input) {
    const bool alone = input.starts_with("-commands\n");
    return in_folder(folder_, refusal(alone ? input.substr(input.find('\n') + 1) : commands_ + input));
  });
}

// Small letters, digits and _, from the first of them to the last.
TEST_F(ReadUserCommands, NamesOfValuesMayHaveLettersDigitsAndUnderscores) {
  const std::string name = "az_09";

  EXPECT_EQ(read("reference = [\"./train.sh\", \"{record}\"]\ncandidate = [\"./train.sh\", \"{record}\", \"{" + name +
                 "}\"]\n" + worlds_ + "values = { " + name + " = \"x\" }\n")
                .cells[0]
                .values.at(name),
            "x");
}

TEST_F(ReadUserCommands, TheLimitsThemselvesArePossible) {
  const auto commands = read(commands_ + "steps = 1\nmicrobatches = 1000000000\nseed = 0\nworld_sizes = [1, 1024]\n");

  EXPECT_EQ(commands.cells[1].world_size, 1024);
  EXPECT_EQ(commands.cells[0].values.at("microbatches"), "1000000000");
}

// Or every world would be started alike.
TEST_F(ReadUserCommands, TheCandidateNeedsTheWorldSizeIfItVaries) {
  const std::string untold =
      "reference = [\"./train.sh\", \"{record}\"]\ncandidate = [\"./train.sh\", \"{record}\"]\nworld_sizes = ";
  EXPECT_THAT(read(untold + "[2]\n").cells, SizeIs(1));
  EXPECT_THAT(refusal("reference = [\"./train.sh\", \"{record}\", \"{norms_from}\"]\ncandidate = [\"./train.sh\", "
                      "\"{record}\", \"{norms_from}\"]\n" +
                      worlds_),
              HasSubstr("its candidate: contains {norms_from}, but only the reference replays norms"));
  EXPECT_THAT(refusal(untold + "[2, 4]\n"), HasSubstr("its candidate: must contain {world}"));
  EXPECT_THAT(read(untold + "[2, 4]\n[environment]\nA = \"x\"\nWORLD = \"{world}\"\n").cells, SizeIs(2));
  const auto launched = read(
      "reference = [\"./train.sh\", \"{record}\"]\ncandidate = [\"{launcher}\", \"./train.sh\", "
      "\"{record}\"]\nworld_sizes = [2, 4]\n");
  EXPECT_TRUE(launched.use_launcher);
}

TEST_F(ReadUserCommands, ThePlanRequestsWhatTheFileNames) {
  const auto made =
      plan(with_how_ + worlds_ + "schedules = [\"theirs\"]\nchecks = [\"loss\"]\nrepeat = [\"theirs-w2\"]\n" +
           "values = { how = \"right\" }\n");

  ASSERT_THAT(made.cells, SizeIs(1));
  const PlannedCell& cell = made.cells[0];
  EXPECT_EQ(cell.plan.id, "theirs-w2");
  EXPECT_EQ(cell.plan.run, "theirs");
  EXPECT_EQ(cell.plan.model, "theirs");
  EXPECT_EQ(cell.plan.schedule, "theirs");
  EXPECT_EQ(cell.plan.variant, "");
  EXPECT_EQ(cell.plan.world, 2);
  EXPECT_EQ(cell.plan.reference, "theirs");
  EXPECT_THAT(cell.plan.checks, ElementsAre("loss"));
  EXPECT_TRUE(cell.plan.repeat);
  EXPECT_EQ(cell.run, folder_ / "theirs.toml");
  EXPECT_EQ(cell.schedule, "theirs");
  EXPECT_EQ(cell.command->ranks, 2);
  EXPECT_TRUE(cell.command->is_candidate);
  EXPECT_EQ(made.references.at(0).command->ranks, 1);
  EXPECT_FALSE(made.references[0].command->is_candidate);
}

// A cell's id is a folder's name: what may not stand in one is hashed.
TEST_F(ReadUserCommands, ValuesArePartOfIdsIfPossible) {
  const auto id_with = [&](const std::string& value) {
    return ids(plan(with_how_ + "[[cell]]\nworld_size = 2\nhow = \"" + value + "\"\n")).at(0);
  };
  const std::string forty(40, 'a');
  EXPECT_EQ(id_with("v1.2_x+y-z"), "how-v1.2_x+y-z-w2");
  EXPECT_EQ(id_with(forty), "how-" + forty + "-w2");
  for (const std::string& value :
       {forty + "a", std::string("a/b"), std::string("a b"), std::string(".hidden"), std::string("")}) {
    EXPECT_THAT(id_with(value), ::testing::MatchesRegex("how-[0-9a-f]{6}-w2")) << value;
  }
}

// A reference is told apart by what its own command is told, and shared where that is the same.
TEST_F(ReadUserCommands, ReferencesWithEqualCommandsAreShared) {
  const std::string told =
      "reference = [\"./train.sh\", \"{record}\", \"{steps}\"]\n"
      "candidate = [\"./train.sh\", \"{record}\", \"{world}\", \"{how}\", \"{steps}\"]\n"
      "values = { how = \"x\" }\nsteps = 3\n";
  const auto made = plan(told +
                         "[[cell]]\nworld_size = 2\n[[cell]]\nworld_size = 2\nhow = \"y\"\n"
                         "[[cell]]\nworld_size = 2\nsteps = 5\nhow = \"y\"\n"
                         "[[cell]]\nworld_size = 4\nsteps = 5\n");

  EXPECT_THAT(ids(made), ElementsAre("w2", "how-y-w2", "steps-5-how-y-w2", "steps-5-w4"));
  ASSERT_THAT(made.references, SizeIs(2));
  EXPECT_EQ(made.references[0].id, "theirs");
  EXPECT_EQ(made.references[1].id, "theirs-steps-5");
  EXPECT_EQ(made.cells[1].plan.reference, "theirs");
  EXPECT_EQ(made.cells[2].plan.reference, "theirs-steps-5");
  EXPECT_EQ(made.cells[3].plan.reference, "theirs-steps-5");
  EXPECT_EQ(made.cells[2].plan.variant, "steps 5, how y");
}

// Two commands of one name differ in a hash of all that they are.
TEST_F(ReadUserCommands, ReferencesWithTheirOwnCommandsHaveTheirOwnIds) {
  const auto made = plan(commands_ +
                         "[[cell]]\nworld_size = 2\n"
                         "[[cell]]\nworld_size = 4\nreference = [\"./train.sh\", \"{record}\", \"otherwise\"]\n");

  ASSERT_THAT(made.references, SizeIs(2));
  EXPECT_EQ(made.references[0].id, "theirs");
  EXPECT_THAT(made.references[1].id, ::testing::MatchesRegex("theirs-[0-9a-f]{6}"));
  EXPECT_EQ(made.cells[1].reference, 1U);
}

TEST_F(ReadUserCommands, AMissingReferenceProgramIsReported) {
  EXPECT_THAT(
      refusal("reference = [\"./gone.sh\", \"{record}\"]\ncandidate = [\"./train.sh\", \"{record}\"]\n" + worlds_),
      AllOf(HasSubstr("its reference: no such program"), HasSubstr("gone.sh")));
  EXPECT_THAT(
      refusal("reference = [\"./train.sh\", \"{record}\"]\ncandidate = [\"./gone.sh\", \"{record}\"]\n" + worlds_),
      AllOf(HasSubstr("its candidate: no such program"), Not(HasSubstr("its reference"))));
}

}  // namespace
}  // namespace plumbline::testing
