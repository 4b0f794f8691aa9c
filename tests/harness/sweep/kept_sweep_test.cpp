// SPDX-License-Identifier: BSD-3-Clause
// The stored plan of a sweep: everything that rejudging needs.
#include "harness/sweep/kept_sweep.hpp"

#include "harness/judge/judge.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

class KeptPlans : public ::testing::Test {
 protected:
  /// All values differ from the defaults.
  static KeptSweep full() {
    CellPlan cell;
    cell.id = "a-1f1b-w2";
    cell.run = "a";
    cell.model = "tiny";
    cell.schedule = "1f1b";
    cell.optimizer = "sgd";
    cell.variant = "partition cost";
    cell.reference = "a-sgd";
    cell.schedule_csv = "rank,action\n";
    cell.world = 2;
    cell.replicas = 3;
    cell.accept_missing = {"gradients"};
    cell.balance = {2, 0, 3};
    cell.lengths = {8, 4};
    cell.checks = {"loss", "gradients"};
    cell.clipping_must_act = true;
    cell.bench = true;
    cell.repeat = true;
    cell.command = "plumbline-pipeline run.toml";
    KeptSweep sweep;
    sweep.name = "small";
    sweep.file = "0123";
    sweep.all_cells = {"a-1f1b-w1", "a-1f1b-w2"};
    sweep.comparison_mode = ComparisonMode::calibrated;
    sweep.selection.cells = 1;
    sweep.selection.of_cells = 2;
    sweep.selection.checks = {"loss", "gradients"};
    sweep.not_applicable = {"a-1f1b-w9: too few layers"};
    sweep.accept_gaps = true;
    sweep.commit = "0123456789ab-dirty";
    sweep.folder = "/home/me";
    sweep.cells = {cell};
    return sweep;
  }
  std::filesystem::path write(const Json& plan) {
    write_json(folder_ / "sweep.json", {{"name", "small"}, {"plan", plan}});
    return folder_ / "sweep.json";
  }
  TemporaryFolder folder_;
};

TEST_F(KeptPlans, ReadBackAsWritten) {
  const KeptSweep wrote = full();

  const KeptSweep read = read_kept_sweep(write(to_json(wrote)));

  EXPECT_EQ(read.name, wrote.name);
  EXPECT_EQ(read.file, wrote.file);
  EXPECT_EQ(read.all_cells, wrote.all_cells);
  EXPECT_EQ(read.comparison_mode, wrote.comparison_mode);
  EXPECT_EQ(read.selection.cells, wrote.selection.cells);
  EXPECT_EQ(read.selection.of_cells, wrote.selection.of_cells);
  EXPECT_EQ(read.selection.checks, wrote.selection.checks);
  EXPECT_EQ(read.not_applicable, wrote.not_applicable);
  EXPECT_EQ(read.accept_gaps, wrote.accept_gaps);
  EXPECT_EQ(read.commit, wrote.commit);
  EXPECT_EQ(read.folder, wrote.folder);
}

TEST_F(KeptPlans, KeepTheWholeRequestOfACase) {
  const Json wrote = to_json(full().cells[0]);

  EXPECT_EQ(to_json(read_kept_sweep(write(to_json(full()))).cells.at(0)), wrote);

  const Json none = to_json(CellPlan());
  for (const auto& [key, value] : wrote.items()) EXPECT_NE(value, none.at(key)) << key << " is the default";
}

TEST_F(KeptPlans, ThatAreDamagedAreNamedWithTheirKey) {
  Json plan = to_json(full());
  plan.at("cells").at(0).at("balance") = "even";

  EXPECT_THAT(error_of<InputError>([&] { read_kept_sweep(write(plan)); }),
              AllOf(HasSubstr("sweep.json"), HasSubstr("balance"), HasSubstr("was not written by this program")));
}

class KeepingOfAPlan : public KeptPlans {
 protected:
  KeepingOfAPlan() {
    file_.path = folder_.file("small.toml", "of the sweep");
    file_.name = "small";
    for (const char* id : {"a", "b"}) plan_.references.push_back({id, id, {}});
    add("a-w1", 0);
    add("a-w2", 0);
    add("b-w1", 1);
  }
  CellPlan& add(const std::string& id, std::size_t reference) {
    PlannedCell cell;
    cell.plan.id = id;
    cell.plan.run = plan_.references[reference].id + ".toml";
    cell.plan.model = plan_.references[reference].id + "-model";
    cell.plan.optimizer = plan_.references[reference].id + "-optimizer";
    cell.plan.lengths = {8, 8};
    cell.plan.reference = plan_.references[reference].id;
    cell.reference = reference;
    plan_.cells.push_back(cell);
    return plan_.cells.back().plan;
  }
  KeptSweep keep() { return kept_sweep(file_, plan_, {"a-w1", "a-w2", "b-w1", "b-w2"}); }

  SweepFile file_;
  SweepPlan plan_;
};

TEST_F(KeepingOfAPlan, IncludesTheSweepFile) {
  plan_.not_applicable = {"b-w9: why"};

  const KeptSweep kept = keep();

  EXPECT_EQ(kept.name, "small");
  EXPECT_EQ(kept.file, hash_hex("of the sweep"));
  EXPECT_EQ(kept.comparison_mode, ComparisonMode::bits);
  EXPECT_EQ(kept.selection.cells, 3);
  EXPECT_EQ(kept.selection.of_cells, 4);
  EXPECT_THAT(kept.all_cells, ElementsAre("a-w1", "a-w2", "b-w1", "b-w2"));
  EXPECT_THAT(kept.not_applicable, ElementsAre("b-w9: why"));
  const auto references = kept.references();
  ASSERT_EQ(references.size(), 2U);
  EXPECT_EQ(references[0].id, "a");
  EXPECT_EQ(references[0].run, "a.toml");
  EXPECT_EQ(references[0].model, "a-model");
  EXPECT_EQ(references[0].optimizer, "a-optimizer");
  EXPECT_EQ(references[1].id, "b");
  EXPECT_EQ(references[1].run, "b.toml");
  EXPECT_EQ(kept.cells.size(), 3U);
  file_.calibrated = true;
  EXPECT_EQ(keep().comparison_mode, ComparisonMode::calibrated);
}

// A reference needs the data coverage that any of its own cases requires.
TEST_F(KeepingOfAPlan, ReferencesGetTheChecksOfAllTheirCases) {
  plan_.cells[0].plan.bench = true;
  plan_.cells[1].plan.lengths = {8, 4};

  const KeptSweep kept = keep();

  EXPECT_TRUE(kept.references()[0].bench);
  EXPECT_FALSE(kept.references()[0].equal_lengths);
  EXPECT_FALSE(kept.references()[1].bench);
  EXPECT_TRUE(kept.references()[1].equal_lengths);
  plan_.cells[0].plan.bench = false;
  plan_.cells[1].plan.bench = true;
  plan_.cells[1].plan.lengths = {8, 8};
  plan_.cells[0].plan.lengths = {};
  EXPECT_TRUE(keep().references()[0].bench);
  EXPECT_FALSE(keep().references()[0].equal_lengths);
}

// Selecting all checks equals no selection; the two unconditional ones need not be named.
TEST_F(KeepingOfAPlan, WithSomeChecksIsASelection) {
  EXPECT_THAT(keep().selection.checks, IsEmpty());

  for (const auto& name : check_names()) {
    if (name != "completion" && name != "as_asked") file_.checks.push_back(name);
  }
  EXPECT_THAT(keep().selection.checks, IsEmpty());

  file_.checks.pop_back();
  EXPECT_EQ(keep().selection.checks, file_.checks);
  file_.checks = {"completion", "loss"};
  EXPECT_THAT(keep().selection.checks, ElementsAre("completion", "loss"));
}

}  // namespace
}  // namespace plumbline::testing
