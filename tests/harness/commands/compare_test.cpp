// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of two records; tests/approved/commands/compare.txt has the command.
#include "harness/commands/compare.hpp"

#include <algorithm>

#include "record/digest.hpp"
#include "record/rank_folder.hpp"
#include "reports/report.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

TEST(Compare, ThePageHasItsOwnFolderAndCanBeRewrittenFromIt) {
  SyntheticCell cell;
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  const auto folder = reference.parent_path() / "page";
  const Verdict verdict = comparison(reference, candidate);

  write_comparison(folder, reference, candidate, verdict);

  const std::string page = read_file(folder / "report.html");
  EXPECT_THAT(page, HasSubstr("<title>Holds: 1 of 1 case - compare - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("Held: completion"));
  EXPECT_THAT(verdict.not_run, IsEmpty()) << "cells, not checks that two records leave out";
  write_reports(folder);
  EXPECT_EQ(read_file(folder / "report.html"), page);
  Verdict later = verdict;
  later.started = "later";
  write_comparison(folder, reference, candidate, later);
  EXPECT_THAT(read_file(folder / "report.html"), HasSubstr("started later"));
  EXPECT_TRUE(std::filesystem::exists(candidate / "manifest.json")) << "the link was removed, not the record";
  EXPECT_THROW(write_comparison(candidate, reference, candidate, verdict), InputError) << "it is no comparison";
}

TEST(Compare, ThePageNamesFoldersAsTheUserDoesAndLeavesNothingWhereItCannotBeMade) {
  SyntheticCell cell;
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  const auto folder = reference.parent_path() / "page";
  const Verdict verdict = comparison(reference / ".", candidate / "");
  EXPECT_EQ(verdict.references[0].id, reference.filename());
  EXPECT_EQ(comparison(reference, candidate).references[0].id, reference.filename());
  EXPECT_EQ(verdict.cells[0].run, candidate.filename());

  write_comparison(folder, reference / ".", candidate / "", verdict);
  EXPECT_TRUE(std::filesystem::exists(folder / "references" / reference.filename() / "manifest.json"));

  std::filesystem::remove_all(folder);
  Verdict impossible = verdict;
  impossible.cells[0].reference = "no/such/place";
  EXPECT_ANY_THROW(write_comparison(folder, reference, candidate, impossible));
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::filesystem::create_directory(folder);
  EXPECT_ANY_THROW(write_comparison(folder, reference, candidate, impossible));
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "the user's own stays";
}

/// What a user's own data are like: no masked microbatch, two that are equal, one length, one step.
TEST(Compare, OrdinaryDataHoldWithAWarning) {
  using Change = void (*)(SyntheticRun&);
  const std::vector<std::pair<std::string, Change>> ordinary = {
      {"no microbatch is fully masked",
       [](SyntheticRun& run) {
         for (auto& rank : run.ranks) {
           for (auto& row : rank.microbatches) {
             if (row.valid_tokens == 0) row.valid_tokens = 1;
           }
           for (auto& row : rank.steps) ++row.valid_tokens;
         }
       }},
      {"microbatches 0 and 3 of step 0 have the same ids and labels",
       [](SyntheticRun& run) {
         for (auto& rank : run.ranks) {
           for (auto& row : rank.microbatches) {
             if (row.microbatch == 3) row.data_digest = rank.microbatches[0].data_digest;
           }
         }
         for (auto& rank : run.ranks) {
           for (auto& row : rank.microbatches) {
             const bool same = row.microbatch == 0 || row.microbatch == 3;
             if (same && !row.data_digest.empty()) row.data_digest = run.ranks[0].microbatches[0].data_digest;
           }
         }
         digest_data_again(run);
       }},
      {"the run has only one step", [](SyntheticRun& run) { keep_first_step(run); }}};
  for (const auto& [warning, change] : ordinary) {
    SyntheticCell cell;
    change(cell.reference);
    change(cell.candidate);

    const auto verdict = comparison(cell.write_reference(), cell.write_candidate());

    EXPECT_TRUE(verdict.holds) << warning << "\n" << comparison_text(verdict);
    EXPECT_THAT(comparison_text(verdict), HasSubstr("\n  this data cannot expose every bug: ")) << warning;
    EXPECT_THAT(comparison_text(verdict), HasSubstr(warning));
  }
}

/// Two pipelines of one training, cut at other places; times differ, as those of two runs do.
class TwoPipelines : public ::testing::Test {
 protected:
  TwoPipelines() {
    SyntheticPlan three;
    three.stages = {{"embed_tokens", "layers.0"}, {"layers.1"}, {"norm", "lm_head"}};
    cell.reference = synthetic_candidate(three);
    for (auto& rank : cell.reference.ranks) {
      for (auto& row : rank.actions) row.end_ns += 1;
    }
  }
  SyntheticCell cell;
};

TEST_F(TwoPipelines, AreComparedInWhatBothHaveWithoutBlame) {
  const auto verdict = comparison(cell.write_reference(), cell.write_candidate());

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  const auto& boundaries = result_of(verdict.cells[0], "boundaries");
  EXPECT_EQ(boundaries.outcome, Outcome::holds);
  EXPECT_EQ(boundaries.compared.at("tensors"), 2 * 2 * synthetic_microbatches * synthetic_steps) << "the cut both have";
  EXPECT_EQ(result_of(verdict.cells[0], "memory").outcome, Outcome::does_not_apply);
}

TEST_F(TwoPipelines, ADifferenceAtTheCutThatBothHaveIsFoundThere) {
  boundary_row(cell.candidate, 0, 2, "forward", "layers.1", "send").digest = other_digest;

  const auto verdict = comparison(cell.write_reference(), cell.write_candidate());

  EXPECT_THAT(with_outcome(verdict.cells[0], Outcome::differs), ElementsAre("boundaries"));
  EXPECT_EQ(verdict.cells[0].first_divergence->item, "layers.1");
}

TEST_F(TwoPipelines, TensorsAtUnsharedBoundariesMustArriveAsSent) {
  std::swap(cell.reference, cell.candidate);
  boundary_row(cell.candidate, 1, 0, "backward", "norm", "receive").digest = other_digest;

  const auto verdict = comparison(cell.write_reference(), cell.write_candidate());

  EXPECT_THAT(with_outcome(verdict.cells[0], Outcome::differs), ElementsAre("boundaries"));
  EXPECT_EQ(verdict.cells[0].first_divergence->item, "norm");
}

TEST(Compare, TheElementIsNamedIfBothDumpedIt) {
  SyntheticCell cell;
  const std::vector<float> right{1, 2, 3, 4}, half{0.5F, 1, 1.5F, 2};
  const auto digest_of = [](const std::vector<float>& values) {
    return tensor_digest("float32", {std::ssize(values)}, std::as_bytes(std::span(values)));
  };
  const auto write_dump = [](const std::filesystem::path& record, std::int64_t rank, const std::vector<float>& values) {
    const std::filesystem::path path = record / rank_folder(rank) / "dumps" / dump_file_name(1);
    make_folder(path.parent_path());
    write_safetensors(
        path, {{"gradient/model.norm.weight", {"float32", {std::ssize(values)}, std::as_bytes(std::span(values))}}});
  };
  tensor_row(cell.reference, 1, "gradient", "model.norm.weight").digest = digest_of(right);
  tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = digest_of(half);
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  write_dump(reference, 0, right);
  write_dump(candidate, 1, half);

  const std::string text = comparison_text(comparison(reference, candidate));

  EXPECT_THAT(text, HasSubstr("element [0] of 4: expected 1, got 0.5"));
}

/// What people read: tests/approved/compare.txt.
TEST(Compare, SummaryFitsTwentyLinesOf80Columns) {
  std::string texts;
  const auto add = [&](const std::string& what, auto change) {
    SyntheticCell changed;
    change(changed);
    const Verdict verdict = comparison(changed.write_reference(), changed.write_candidate());
    const std::string text = wrapped(without_digests(comparison_text(verdict, Detail::summary)), 80);
    EXPECT_LE(std::ranges::count(text, '\n'), 20) << text;
    texts += "# " + what + "\n" + text + "\n";
  };
  add("equal", [](SyntheticCell&) {});
  add("gradients times the number of microbatches", [](SyntheticCell& cell) {
    for (TensorRow& row : cell.candidate.rows(&RankRecord::tensors)) {
      if (row.kind != "gradient") continue;
      row.digest = other_digest;
      row.l2 *= synthetic_microbatches;
    }
  });
  add("no gradients recorded", [](SyntheticCell& cell) {
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external";
    cell.candidate.manifest["not_recorded"] = {
        {{"what", "gradients"},
         {"why", "a reason of many words" + join(std::vector<std::string>(60, ""), " and so on")}}};
    cell.candidate.erase(&RankRecord::tensors, [](const TensorRow& row) { return row.kind == "gradient"; });
  });
  add("a killed rank", [](SyntheticCell& cell) { cell.candidate.ranks[1].exit.reset(); });
  add("another start", [](SyntheticCell& cell) {
    for (TensorRow& row : cell.candidate.rows(&RankRecord::tensors)) row.digest = other_digest;
  });
  expect_approved("compare.txt", texts);
}

TEST(Compare, GapsAreNamedOnceAndOptionalChecksCounted) {
  CellVerdict cell;
  for (const char* name : {"loss", "gradients"}) {
    CheckResult check;
    check.name = name;
    check.outcome = Outcome::incomplete;
    check.required = false;
    check.not_shown = {"the other replicas"};
    cell.checks.push_back(check);
  }
  cell.holds = true;

  const std::string text = comparison_text(cell);

  EXPECT_THAT(text, HasSubstr("not compared:\n  the other replicas\n"));
  EXPECT_EQ(text.find("the other replicas"), text.rfind("the other replicas"));
}

}  // namespace
}  // namespace plumbline::testing
