// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_plan.hpp"

#include <map>

#include "harness/judge/judge.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_variant.hpp"
#include "reports/words.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

std::vector<std::string> ids(const SweepPlan& plan) {
  std::vector<std::string> found;
  for (const auto& cell : plan.cells) found.push_back(cell.plan.id);
  return found;
}

class MakePlan : public ::testing::Test {
 protected:
  MakePlan() {
    folder_.file("models/small/config.json", R"({"num_hidden_layers": 5})");
    run_file("a.toml");
  }
  void run_file(const std::string& name, const std::string& pipeline = "") {
    folder_.file(name,
                 "[model]\nconfig = \"models/small/config.json\"\n[data]\ntext = \"t.txt\"\nlengths = [4, 8]\n"
                 "[train]\noptimizer = \"adamw\"\nbeta1 = 0.9\n[pipeline]\nschedule = \"afab\"\n" +
                     pipeline);
  }
  void five_steps(const std::string& lengths = "4, 8") {
    folder_.file("five.toml", "[model]\nconfig = \"models/small/config.json\"\n[data]\nlengths = [" + lengths +
                                  "]\n[train]\nsteps = 5\n[pipeline]\nschedule = \"afab\"\n");
  }
  SweepPlan plan(const std::string& text) { return make_plan(read_sweep_file(folder_.file("sweep.toml", text))); }
  std::string refusal(const std::string& text) {
    return error_of<InputError>([&] { plan(text); });
  }
  TemporaryFolder folder_;
};

TEST_F(MakePlan, NamesAreTheUsersOrFromFolderAndFile) {
  const std::string whole = "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n";
  folder_.file("mine/config.json", R"({"num_hidden_layers": 5})");
  folder_.file("mine/run.toml", whole);
  folder_.file("mine/other.toml", whole);
  folder_.file("mine/named.toml", "name = \"My run/2\"\n" + whole);
  const std::string text = "run = [\"run.toml\", \"other.toml\", \"named.toml\"]\nworld_sizes = [1]\n";

  const SweepFile sweep = read_sweep_file(folder_.file("mine/sweep.toml", text));
  const auto made = make_plan(sweep);

  EXPECT_EQ(sweep.name, "mine/sweep");
  EXPECT_THAT(ids(made), ElementsAre("run-1f1b-w1", "other-1f1b-w1", "My-run-2-1f1b-w1"));
  std::vector<std::string> names;
  for (const auto& cell : made.cells) names.push_back(cell.plan.model + ", " + cell.plan.run);
  EXPECT_THAT(names, ElementsAre("mine, mine/run", "mine, other", "mine, My run/2"));
  EXPECT_EQ(read_sweep_file(folder_.file("mine/sweep.toml", "name = \"Release 3\"\n" + text)).name, "Release 3");
  EXPECT_THAT(error_of<InputError>([&] { read_sweep_file(folder_.file("mine/bad.toml", "name = \"\"\n" + text)); }),
              HasSubstr("key name: must be a string that is not empty"));
}

TEST_F(MakePlan, ReplicasMultiplyTheRanksAndHaveAReferenceThatSumsInTheirGroups) {
  const auto made = plan("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nreplicas = [1, 2, 3]\n");

  EXPECT_THAT(ids(made), ElementsAre("a-afab-w1", "a-afab-w2", "a-afab-r2-w1", "a-afab-r2-w2"));
  EXPECT_THAT(made.not_applicable,
              ElementsAre(HasSubstr("a-afab-r3-w1: replicas is 3, which does not divide the 2 microbatches"),
                          HasSubstr("a-afab-r3-w2")));
  const PlannedCell& last = made.cells.back();
  EXPECT_EQ(last.plan.world, 4);
  EXPECT_EQ(last.plan.replicas, 2);
  EXPECT_EQ(last.placement.ranks, 2);
  EXPECT_THAT(made.references.at(last.reference).accumulation, HasSubstr("embed_tokens,0,0\nembed_tokens,1,1\n"));
  EXPECT_EQ(made.references.at(made.cells.front().reference).accumulation, "");
  EXPECT_THAT(pipeline_run(last.run, last.changes, last.schedule, folder_.path()), HasSubstr("replicas = 2"));
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\nworld_size = 1\nreplicas = 3\n"), HasSubstr("does not divide"));
}

TEST_F(MakePlan, MatrixIsRunsTimesSchedulesTimesWorldsInThisOrder) {
  const auto made = plan("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\", \"afab\"]\n");

  EXPECT_THAT(ids(made), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "a-afab-w1", "a-afab-w2"));
  EXPECT_THAT(made.references, SizeIs(1)) << "one reference serves all worlds and schedules";
  EXPECT_FALSE(made.references[0].splits_backward);
  EXPECT_EQ(made.cells[3].plan.world, 2);
  EXPECT_EQ(made.cells[3].plan.schedule, "afab");
  EXPECT_EQ(made.cells[3].plan.model, "small");
  EXPECT_EQ(made.cells[3].plan.optimizer, "adamw");
  EXPECT_EQ(made.cells[3].plan.run, "a");
}

TEST_F(MakePlan, AReferenceKnowsWhetherAnyCellOfTheWholeSweepSplitsTheBackward) {
  const auto made = plan("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"afab\", \"zb-h1\"]\n");

  ASSERT_THAT(made.references, SizeIs(1));
  EXPECT_TRUE(made.references[0].splits_backward);
  EXPECT_TRUE(select_cells(made, {"a-afab-w2"}).references.at(0).splits_backward)
      << "what is run of the sweep now decides nothing: the rest may follow";
}

TEST_F(MakePlan, TheRunFilesScheduleIsTheDefault) {
  EXPECT_THAT(ids(plan("run = [\"a.toml\"]\nworld_sizes = [2]\n")), ElementsAre("a-afab-w2"));
}

TEST_F(MakePlan, BalanceSharesTheReferenceAndLengthsDoNot) {
  const auto made = plan(
      "run = [\"a.toml\"]\nworld_sizes = [2]\n"
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nbalance = [5, 0]\n"
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nlengths = [6, 6]\n");

  ASSERT_THAT(made.cells, SizeIs(3));
  EXPECT_EQ(made.cells[1].plan.id, "a-afab-w2-balance-5-0");
  EXPECT_THAT(made.cells[1].plan.balance, ElementsAre(5, 0));
  EXPECT_EQ(made.cells[1].reference, made.cells[0].reference);
  EXPECT_THAT(made.cells[2].plan.id, HasSubstr("a-lengths-"));
  EXPECT_THAT(made.cells[2].plan.lengths, ElementsAre(6, 6));
  EXPECT_NE(made.cells[2].reference, made.cells[0].reference);
}

TEST_F(MakePlan, RepeatMarksTheCellsItNamesAndRefusesOthers) {
  const auto made = plan("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nrepeat = [\"a-afab-w2\"]\n");

  EXPECT_FALSE(made.cells[0].plan.repeat);
  EXPECT_TRUE(made.cells[1].plan.repeat);
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nrepeat = [\"a-afab-w3\"]\n"),
              AllOf(HasSubstr("repeat"), HasSubstr("a-afab-w3"), HasSubstr("did you mean \"a-afab-w")));
}

TEST_F(MakePlan, ImpossiblePlansAreRefused) {
  run_file("chunks.toml", "chunks = 2\n");
  folder_.file("broken.toml", "[model]\nconfig = \n");
  const std::string model = "[model]\nconfig = \"models/small/config.json\"\n[data]\nlengths = [4]\n";
  folder_.file("many.toml", model + "microbatches = 1000001\n");
  folder_.file("deep.toml", model + "[pipeline]\nbalance = [5, 100001]\n");
  folder_.file("nameless.toml", "name = \"  \"\n" + model);
  folder_.file("long.toml", "name = \"" + std::string(81, 'n') + "\"\n" + model);
  const std::string cell = "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\n",
                    matrix = "run = [\"a.toml\"]\nworld_sizes = [2]\n";
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {cell + "balance = [2, 2]\n", {"adds up to 4", "has 5", "config.json"}},
      {cell + "schedule = \"dualpipe-v\"\n", {"microbatches"}},
      {"run = [\"chunks.toml\"]\nworld_sizes = [2]\n", {"chunks"}},
      {matrix + cell, {"a-afab-w2", "twice"}},
      {"run = [\"many.toml\"]\nworld_sizes = [2]\n",
       {"data.microbatches: is 1000001; a sweep accepts at most 1000000"}},
      {"run = [\"deep.toml\"]\nworld_sizes = [2]\n", {"pipeline.balance: gives the layers of each stage, from 0 to"}},
      {"run = [\"nameless.toml\"]\nworld_sizes = [2]\n", {"key name: must be a name of 1 to 80 characters"}},
      {"run = [\"long.toml\"]\nworld_sizes = [2]\n", {"key name: must be a name of 1 to 80 characters"}},
      {"run = [\"broken.toml\"]\nworld_sizes = [2]\n", {"broken.toml:2"}}};
  for (const auto& [text, words] : cases) {
    const std::string told = refusal(text);
    for (const auto& part : words) EXPECT_THAT(told, HasSubstr(part)) << text;
  }
}

TEST_F(MakePlan, RunFilesOwnBalanceMustFitEveryWorldSize) {
  run_file("b.toml", "balance = [3, 2]\n");

  EXPECT_THAT(plan("run = [\"b.toml\"]\nworld_sizes = [2]\n").cells[0].plan.balance, ElementsAre(3, 2));
  EXPECT_THAT(refusal("run = [\"b.toml\"]\nworld_sizes = [2, 3]\n"),
              AllOf(HasSubstr("2 stages"), HasSubstr("world size 3")));
}

TEST_F(MakePlan, ACaseThatItsScheduleCannotHaveIsNotApplicable) {
  const auto made = plan("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"afab\", \"dualpipe-v\"]\n");

  EXPECT_THAT(ids(made), ElementsAre("a-afab-w1", "a-afab-w2", "a-dualpipe-v-w1"));
  EXPECT_THAT(made.not_applicable,
              ElementsAre(AllOf(HasSubstr("a-dualpipe-v-w2: "), HasSubstr("fewer ranks, at most 1"))));
}

TEST_F(MakePlan, RunFilesWithEqualNamesGetTheirFolderAsPrefix) {
  run_file("x/a.toml");
  run_file("y/a.toml");
  run_file("x/z/a.toml");
  run_file("y/z/a.toml");
  run_file("x/b.toml");
  for (const char* place : {"x", "y", "x/z", "y/z"}) {
    folder_.file(std::string(place) + "/models/small/config.json", R"({"num_hidden_layers": 5})");
  }

  const auto two = plan("run = [\"x/a.toml\", \"y/a.toml\", \"x/b.toml\"]\nworld_sizes = [2]\n");
  EXPECT_THAT(ids(two), ElementsAre("x-a-afab-w2", "y-a-afab-w2", "b-afab-w2"));
  ASSERT_THAT(two.references, SizeIs(3));
  EXPECT_EQ(two.references[1].id, "y-a");
  EXPECT_EQ(two.cells[1].plan.run, "y-a");

  const auto deeper = plan("run = [\"x/z/a.toml\", \"y/z/a.toml\"]\nworld_sizes = [2]\n");
  EXPECT_THAT(ids(deeper), ElementsAre("x-z-a-afab-w2", "y-z-a-afab-w2"));
}

TEST_F(MakePlan, EachCaseHasTheSweepsRequests) {
  const auto made = plan(
      "run = [\"a.toml\"]\nworld_sizes = [2]\nbench = true\nclipping = true\nchecks = [\"loss\"]\n"
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nlengths = [6, 6]\n");

  ASSERT_THAT(made.cells, SizeIs(2));
  for (const auto& cell : made.cells) {
    EXPECT_TRUE(cell.plan.bench);
    EXPECT_THAT(cell.plan.checks, ElementsAre("loss"));
  }
  EXPECT_TRUE(made.cells[0].plan.clipping_must_act);
  EXPECT_FALSE(made.cells[1].plan.clipping_must_act) << "other data clip in other steps";
}

TEST_F(MakePlan, AResumedCaseSharesTheReferenceAndNamesItsFirstPart) {
  const std::string steps = "[[cell]]\nrun = \"five.toml\"\nworld_size = 4\nresume_at = ";
  five_steps("4, 8, 4, 8");

  const auto made = plan(steps + "2\nresume_world = 2\nresume_schedule = \"zb-v\"\n[[cell]]\nrun = \"five.toml\"\n" +
                         "world_size = 2\n");

  EXPECT_THAT(ids(made), ElementsAre("five-zb-v-w2-resumed-at-2-from-afab-w4", "five-afab-w2"));
  EXPECT_THAT(made.references, SizeIs(1));
  const PlannedCell& cell = made.cells[0];
  EXPECT_EQ(cell.plan.world, 2);
  EXPECT_EQ(cell.plan.schedule, "zb-v");
  EXPECT_EQ(cell.plan.variant, "resumed after 2 steps on 4 ranks");
  EXPECT_EQ(cell.resumes_from->steps, 2);
  EXPECT_EQ(cell.resumes_from->world, 4);
  EXPECT_EQ(cell.resumes_from->schedule, "afab");
  EXPECT_THAT(refusal(steps + "5\n"), HasSubstr("none is left after the resume"));
}

TEST_F(MakePlan, AReferenceTrainsWhatItsCellsDo) {
  const auto made = plan(
      "run = [\"a.toml\"]\nworld_sizes = [2]\noptimizers = [\"sgd\"]\n"
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nlengths = [6, 6]\n");

  ASSERT_THAT(made.references, SizeIs(2));
  EXPECT_EQ(made.references[0].run, folder_ / "a.toml");
  EXPECT_EQ(made.references[0].changes.optimizer, "sgd");
  EXPECT_THAT(made.references[0].changes.lengths, IsEmpty());
  EXPECT_FALSE(made.references[1].changes.optimizer);
  EXPECT_THAT(made.references[1].changes.lengths, ElementsAre(ElementsAre(6), ElementsAre(6)));
  for (const auto& cell : made.cells) EXPECT_EQ(cell.plan.reference, made.references[cell.reference].id);
}

// Lengths that the run file has anyway change no training, but were meant to be so.
TEST_F(MakePlan, ACaseWithItsRunFilesLengthsSharesTheReference) {
  const auto made = plan(
      "clipping = true\nrun = [\"a.toml\"]\nworld_sizes = [2]\n"
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 3\nlengths = [4, 8]\n");

  ASSERT_THAT(made.references, SizeIs(1));
  EXPECT_EQ(made.cells.at(1).plan.id, "a-afab-w3");
  EXPECT_THAT(made.cells[1].plan.lengths, ElementsAre(4, 8));
  EXPECT_TRUE(made.cells[1].plan.clipping_must_act);
}

TEST_F(MakePlan, RequiredClippingAppliesToWholeRunsOfTheMatrix) {
  run_file("b.toml");
  five_steps();
  const std::string cells =
      "[[cell]]\nrun = \"b.toml\"\nworld_size = 2\n"
      "[[cell]]\nrun = \"five.toml\"\nworld_size = 1\nresume_at = 2\n";
  const auto acts = [&](const std::string& text) {
    std::vector<bool> all;
    for (const auto& cell : plan(text + cells).cells) all.push_back(cell.plan.clipping_must_act);
    return all;
  };
  const std::string matrix = "run = [\"a.toml\", \"five.toml\"]\nworld_sizes = [2]\n";

  EXPECT_THAT(acts("clipping = true\n" + matrix), ElementsAre(true, true, false, false));
  EXPECT_THAT(acts("clipping = true\n"), ElementsAre(true, false)) << "of cells alone all runs are the sweep's";
  EXPECT_THAT(acts(matrix), ElementsAre(false, false, false, false));
}

TEST_F(MakePlan, AnOptimizerInTheRunsNameIsNotRepeatedInIds) {
  run_file("small-sgd.toml");

  EXPECT_THAT(ids(plan("run = [\"small-sgd.toml\"]\nworld_sizes = [2]\noptimizers = [\"sgd\", \"adamw\"]\n")),
              ElementsAre("small-sgd-afab-w2", "small-sgd-adamw-afab-w2"));
}

TEST_F(MakePlan, TheVariantNamesUpToEightLengthsAndTheFirstPart) {
  five_steps();
  const auto made = plan(
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nlengths = [1, 2, 3, 4, 5, 6, 7, [8, 8]]\n"
      "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nlengths = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
      "[[cell]]\nrun = \"five.toml\"\nworld_size = 1\nschedule = \"1f1b\"\nresume_at = 2\n");

  ASSERT_THAT(made.cells, SizeIs(3));
  EXPECT_THAT(made.cells[0].plan.variant, StartsWith("lengths 1 2 3 4 5 6 7 8"));
  EXPECT_THAT(made.cells[1].plan.variant, ::testing::MatchesRegex("lengths of 9 microbatches \\([0-9a-f]{6}\\)"));
  EXPECT_EQ(made.cells[2].plan.variant, "resumed after 2 steps on 1 rank under 1f1b");
}

// A reference sums in one order, and both parts of a run are held against it.
TEST_F(MakePlan, TwoPartsThatSumInDifferentOrdersAreRefused) {
  five_steps();
  folder_.file("late.csv", "0F0,0F1,0B1,0B0\n");
  const std::string cell =
      "[[cell]]\nrun = \"five.toml\"\nworld_size = 1\nschedule = \"late.csv\"\nresume_at = 2\nresume_schedule = ";

  EXPECT_THAT(refusal(cell + "\"afab\"\n"), HasSubstr("sum gradients in different orders"));
  EXPECT_THAT(plan(cell + "\"late.csv\"\n").references.at(0).id, HasSubstr("five-order-"));
}

TEST_F(MakePlan, SelectionKeepsOnlyTheReferencesItNeeds) {
  const auto whole = plan("run = [\"a.toml\"]\nworld_sizes = [1, 2]\noptimizers = [\"adamw\", \"sgd\"]\n");

  const auto selected = select_cells(whole, {"a-sgd-afab-w2"});

  EXPECT_THAT(ids(selected), ElementsAre("a-sgd-afab-w2"));
  ASSERT_THAT(selected.references, SizeIs(1));
  EXPECT_EQ(selected.references[selected.cells[0].reference].id, "a-sgd");
  EXPECT_THAT(error_of<InputError>([&] { select_cells(whole, {"a-sgd-afab-w22"}); }),
              AllOf(HasSubstr("--cells"), HasSubstr("a-sgd-afab-w2")));
}

/// Titles of a page, of which several cells have the same one.
std::vector<std::string> titles_of_several(const SweepPlan& plan) {
  std::map<std::string, int> times;
  for (const auto& cell : plan.cells) ++times[cell_title(judge_cell(cell.plan, "no-reference", "no-candidate"))];
  std::vector<std::string> several;
  for (const auto& [title, count] : times) {
    if (count > 1) several.push_back(title);
  }
  return several;
}

TEST_F(MakePlan, TitlesAreUnique) {
  for (const char* name : {"small-adamw.toml", "small-adamw-long.toml", "small-sgd.toml", "other/a.toml"})
    run_file(name);
  run_file("small-adamw-bf16.toml", "partition = \"cost\"\n");
  folder_.file("other/models/small/config.json", R"({"num_hidden_layers": 5})");

  std::string text = R"(
run = ["a.toml", "other/a.toml", "small-adamw.toml", "small-adamw-long.toml", "small-sgd.toml", "small-adamw-bf16.toml"]
world_sizes = [1, 2, 3]
schedules = ["1f1b", "afab"]
optimizers = ["adamw", "sgd"]
)";
  for (const char* change : {"balance = [1, 4]", "balance = [4, 1]", "partition = \"uniform\"", "lengths = [4, 8, 4]",
                             "lengths = [8, 4, 4]"}) {
    text += "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nschedule = \"1f1b\"\noptimizer = \"adamw\"\n" +
            std::string(change) + "\n";
  }
  const auto made = plan(text);

  EXPECT_THAT(made.cells, SizeIs(6 * 2 * 2 * 3 + 5));
  EXPECT_THAT(titles_of_several(made), IsEmpty());
}

TEST_F(MakePlan, EachOptimizerHasItsOwnReference) {
  const auto optimizers = plan("run = [\"a.toml\"]\nworld_sizes = [2]\noptimizers = [\"adamw\", \"sgd\"]\n");
  EXPECT_THAT(ids(optimizers), ElementsAre("a-adamw-afab-w2", "a-sgd-afab-w2"));
  EXPECT_EQ(optimizers.cells[1].plan.optimizer, "sgd");
  ASSERT_THAT(optimizers.references, SizeIs(2));
  EXPECT_EQ(optimizers.references[1].id, "a-sgd");
  EXPECT_EQ(optimizers.cells[1].reference, 1U);
}

}  // namespace
}  // namespace plumbline::testing
