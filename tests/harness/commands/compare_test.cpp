#include "harness/commands/compare.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Compare, TwoRecordsThatAgreeHold) {
  SyntheticCell cell;

  const auto verdict = compare_records(cell.write_reference(), cell.write_candidate());

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(verdict.world, 2);
  EXPECT_EQ(verdict.schedule, "1f1b");
  EXPECT_EQ(verdict.optimizer, "adamw");
}

TEST(Compare, DataThatDoNotTellAreShownButNotRequiredWhereNobodyPlannedThem) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.microbatches) {
        if (row.loss) row.loss = 0.25F * static_cast<float>(row.valid_tokens);
      }
      for (auto& row : rank.steps) {
        if (row.loss) row.loss = 2.5F;
      }
    }
  }

  const auto verdict = compare_records(cell.write_reference(), cell.write_candidate());

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "variable_lengths").outcome, Outcome::not_triggered);
  EXPECT_FALSE(result_of(verdict, "variable_lengths").required);
  EXPECT_THAT(comparison_text(verdict), HasSubstr("HOLDS, 1 checks could not be run or were not triggered"));
}

TEST(Compare, TextSaysWhatFailedAndWhere) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;

  const auto text = comparison_text(compare_records(cell.write_reference(), cell.write_candidate()));

  EXPECT_THAT(text, HasSubstr("DOES NOT HOLD"));
  EXPECT_THAT(text, HasSubstr("first divergence (R3): gradient model.norm.weight, step 1, stage 1: the bits differ"));
}

TEST(Compare, PrintedJsonIsAVerdictThatReadsBack) {
  SyntheticCell cell;
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();

  ::testing::internal::CaptureStdout();
  const int code = compare(reference, candidate, true);
  write_file(cell.folder / "verdict.json", ::testing::internal::GetCapturedStdout());

  const auto verdict = read_verdict(cell.folder / "verdict.json");
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(verdict.holds);
  ASSERT_EQ(verdict.cells.size(), 1U);
  EXPECT_EQ(verdict.cells[0].checks.size(), check_names().size());
  EXPECT_GT(verdict.counts.at("tensors"), 0);
}

TEST(Compare, HoldsTheCandidateToARequest) {
  SyntheticCell cell;
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  const auto right = cell.folder.file("right.json", R"({"schema": "plumbline-request/1", "world_size": 2})");
  const auto other = cell.folder.file("other.json", R"({"schema": "plumbline-request/1", "world_size": 8})");

  EXPECT_EQ(result_of(compare_records(reference, candidate, {}, right), "as_asked").outcome, Outcome::holds);
  const auto verdict = compare_records(reference, candidate, {}, other);
  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(comparison_text(verdict), HasSubstr("world_size is 2, asked for was 8"));
  EXPECT_THROW(compare_records(reference, candidate, {}, cell.folder / "none.json"), InputError);
}

TEST(Compare, FolderThatIsNoRecordIsAnInputError) {
  SyntheticCell cell;
  const auto reference = cell.write_reference();

  EXPECT_THAT(error_of<InputError>([&] { compare(reference, cell.folder / "nothing", false); }),
              HasSubstr("nothing (the candidate) is no folder"));
}

TEST(Compare, TruncatedTableIsAnInputErrorWithFileAndLine) {
  SyntheticCell cell;
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  const auto path = candidate / "rank-0" / "steps.csv";
  const std::string bytes = bytes_of(path);
  write_file(path, bytes.substr(0, bytes.size() - 1));

  EXPECT_THAT(error_of<InputError>([&] { compare(reference, candidate, false); }), HasSubstr("rank-0/steps.csv"));
}

TEST(Compare, KilledRankDoesNotHoldRatherThanBeingAnInputError) {
  SyntheticCell cell;
  cell.candidate.ranks[1].exit.reset();

  ::testing::internal::CaptureStdout();
  EXPECT_EQ(compare(cell.write_reference(), cell.write_candidate(), false), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("rank 1 left no exit.json"));
}

/// Records of a program that shares nothing with this one but the text of the format.
class PythonWriter : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* candidate : {"python3", "/usr/bin/python3"}) {
      const std::string found = candidate;
      const std::string probe = found + " -c 'import xxhash' 2>/dev/null || (" + found +
                                " -c '' 2>/dev/null && command -v xxh128sum >/dev/null)";
      if (std::system(probe.c_str()) == 0) python_ = found;
      if (!python_.empty()) return;
    }
    GTEST_SKIP() << "no python3 with the module xxhash (Debian: python3-xxhash), nor xxh128sum (Debian: xxhash)";
  }

  std::filesystem::path write(const std::string& name, const std::string& options = "") {
    const auto script =
        std::filesystem::path(PLUMBLINE_FIXTURES).parent_path() / "tests" / "python_writer" / "write_record.py";
    const std::string command = python_ + " '" + script.string() + "' '" + (folder_ / name).string() + "' " + options;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return folder_ / name;
  }

  std::string python_;
  TemporaryFolder folder_;
};

TEST_F(PythonWriter, RecordsOfOneAndOfThreeRanksHoldAndWhatTheyLackIsSaid) {
  const auto verdict = compare_records(write("one"), write("three", "--stages embed_tokens/layers.0/norm,lm_head"));

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(with_outcome(verdict, Outcome::not_run), ElementsAre("memory", "conformance"));
  EXPECT_EQ(result_of(verdict, "boundaries").looked_at.at("tensors"),
            2 * 5 * 2 * 4);  // steps x microbatches x directions x ends
  EXPECT_EQ(result_of(verdict, "gradients").looked_at.at("tensors"), 2 * 12);
}

TEST_F(PythonWriter, FaultOnACutIsFoundThere) {
  const auto verdict =
      compare_records(write("one"), write("faulty", "--narrow --stages embed_tokens/layers.0,norm,lm_head"));

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries"));
  EXPECT_EQ(verdict.first_divergence->item, "layers.0");
  EXPECT_EQ(verdict.first_divergence->step, 1);
  EXPECT_EQ(verdict.first_divergence->microbatch, 2);
}

TEST_F(PythonWriter, AnotherSeedIsRedAndSaysWhy) {
  const auto verdict = compare_records(write("one"), write("other", "--seed 2"));

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(comparison_text(verdict), HasSubstr("not comparable: seed is 1 in the reference and 2 in the candidate"));
}

}  // namespace
}  // namespace plumbline::testing
