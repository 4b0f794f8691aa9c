// SPDX-License-Identifier: BSD-3-Clause
// Records of external programs: what they may lack, and that their errors are detected.
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "harness/commands/compare.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

using ::testing::IsSupersetOf;

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
    const auto script = std::filesystem::path(source_path()) / "tests" / "python_writer" / "write_record.py";
    const std::string command = python_ + " '" + script.string() + "' '" + (folder_ / name).string() + "' " + options;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return folder_ / name;
  }

  std::string python_;
  TemporaryFolder folder_;
};

TEST_F(PythonWriter, RecordsOfOneAndThreeRanksHoldAndNameWhatTheyLack) {
  const auto verdict = compare_records(write("one"), write("three", "--stages embed_tokens/layers.0/norm,lm_head"));

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(with_outcome(verdict, Outcome::incomplete), ElementsAre("memory", "conformance"));
  EXPECT_EQ(result_of(verdict, "boundaries").compared.at("tensors"),
            2 * 5 * 2 * 4);  // steps x microbatches x directions x ends
  EXPECT_EQ(result_of(verdict, "gradients").compared.at("tensors"), 2 * 12);
}

TEST_F(PythonWriter, TwoRecordsOfOneRankAreComparedCutByCut) {
  const auto one = write("one"), other = write("other");
  const auto verdict = compare_records(one, other);

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "boundaries").compared.at("tensors"), 2 * 5 * 2 * 3)
      << "steps, microbatches, ways, cuts";

  std::string rows = read_file(other / "rank-0/boundaries.csv");
  rows.erase(rows.rfind("1,4,backward,layers.0"));  // the last one
  write_file(other / "rank-0/boundaries.csv", rows);
  const auto lacking = compare_records(one, other);
  EXPECT_THAT(with_outcome(lacking, Outcome::differs), ElementsAre("boundaries"));
  EXPECT_THAT(comparison_text(lacking), HasSubstr("the candidate did not record a tensor at this boundary"));
}

TEST_F(PythonWriter, FaultOnACutIsFoundThere) {
  const auto verdict =
      compare_records(write("one"), write("faulty", "--narrow --stages embed_tokens/layers.0,norm,lm_head"));

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("boundaries"));
  EXPECT_EQ(verdict.first_divergence->item, "layers.0");
  EXPECT_EQ(verdict.first_divergence->step, 1);
  EXPECT_EQ(verdict.first_divergence->microbatch, 2);
}

TEST_F(PythonWriter, AModelWithItsOwnUnitsIsJudgedByTheReference) {
  const auto one = write("one", "--convolutions");
  const auto verdict = compare_records(one, write("two", "--convolutions --stages conv1,conv2/conv3,head"));

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "gradients").compared.at("tensors"), 2 * 7);
  EXPECT_EQ(result_of(verdict, "census").compared.at("units"), 4);
  EXPECT_EQ(result_of(verdict, "boundaries").compared.at("tensors"), 2 * 5 * 2 * 2);

  const auto faulty = compare_records(one, write("faulty", "--convolutions --narrow --stages conv1,conv2/conv3,head"));
  EXPECT_THAT(with_outcome(faulty, Outcome::differs), ElementsAre("boundaries"));
  EXPECT_EQ(faulty.first_divergence->item, "conv3");

  const auto lacking =
      compare_records(one, write("lacking", "--convolutions --drop conv3.bias --stages conv1,conv2/conv3,head"));
  EXPECT_THAT(with_outcome(lacking, Outcome::differs), Contains("census"));
  EXPECT_THAT(comparison_text(lacking), HasSubstr("conv3.bias of conv3 exists 0 times, not once"));

  const auto mixed = compare_records(one, write("mixed", "--convolutions --stages conv1,conv3/conv2,head"));
  EXPECT_THAT(comparison_text(mixed), HasSubstr("the units are not in the order of the model"));
}

TEST_F(PythonWriter, WithoutClippingTheNormIsOptional) {
  const auto verdict = compare_records(write("one", "--without-clipping"),
                                       write("two", "--without-clipping --stages embed_tokens/layers.0,norm,lm_head"));

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "gradient_norm").outcome, Outcome::does_not_apply);
}

/// Changes steps.csv of every rank.
void change_steps(const std::filesystem::path& record, const std::function<void(std::vector<std::string>&)>& change) {
  for (const auto& entry : std::filesystem::directory_iterator(record)) {
    if (!entry.is_directory()) continue;
    std::istringstream lines(read_file(entry.path() / "steps.csv"));
    std::string text, line;
    for (std::int64_t number = 0; std::getline(lines, line); ++number) {
      std::vector<std::string> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
      if (number > 0) change(cells);
      text += join(cells, ",") + "\n";
    }
    write_file(entry.path() / "steps.csv", text);
  }
}

void set_manifest(const std::filesystem::path& record, const std::string& key, const Json& value) {
  Json manifest = read_json(record / "manifest.json");
  manifest[key] = value;
  write_file(record / "manifest.json", json_text(manifest));
}

/// As torch.nn.utils.clip_grad_norm_ computes in float32, with its epsilon.
void clip_as_torch(std::vector<std::string>& cells, float factor) {
  const float norm = std::nextafter(std::stof(cells.at(2)) * factor, 100.F);
  cells.at(2) = to_text(static_cast<double>(norm));
  cells.at(3) = to_text(static_cast<double>(std::min(1.F, 1.F / (norm + 1e-6F) * 1.F)));
}

TEST_F(PythonWriter, NormSummedRankByRankIsCheckedWithinItsRounding) {
  const auto one = write("one"), two = write("two", "--stages embed_tokens/layers.0,norm,lm_head");
  for (const auto& record : {one, two}) {
    set_manifest(record, "norm_order", "per_rank");
    set_manifest(record, "clip_epsilon", 1e-6);
    set_manifest(record, "clip_norm", 1.0);
    change_steps(record, [&](auto& cells) { clip_as_torch(cells, record == one ? 1.F : 1.0000001F); });
  }
  const auto verdict = compare_records(one, two);

  EXPECT_TRUE(verdict.incomplete()) << comparison_text(verdict);

  change_steps(two, [&](auto& cells) { clip_as_torch(cells, 1.001F); });
  const auto wrong_norm = compare_records(one, two);
  EXPECT_THAT(with_outcome(wrong_norm, Outcome::differs), ElementsAre("gradient_norm"));
  EXPECT_EQ(wrong_norm.first_divergence->item, "gradient_norm");

  change_steps(two, [&](auto& cells) {
    cells.at(2) = to_text(std::stod(cells.at(2)) / 1.001);
    cells.at(3) = to_text(0.99 * std::stod(cells.at(3)));
  });
  const auto wrong_coefficient = compare_records(one, two);
  EXPECT_THAT(with_outcome(wrong_coefficient, Outcome::differs), Contains("gradient_norm"));
  EXPECT_EQ(wrong_coefficient.first_divergence->item, "clip_coefficient");
}

TEST_F(PythonWriter, AnotherTrainingIsNotComparedAndSaysWhichKey) {
  const auto one = write("one");
  const auto expect_refused = [&](const std::filesystem::path& other, const std::string& words) {
    const auto verdict = compare_records(one, other);
    EXPECT_FALSE(verdict.holds);
    EXPECT_THAT(comparison_text(verdict), HasSubstr(words));
  };
  expect_refused(write("convolutions", "--convolutions"),
                 "the records cannot be compared: model: channels is null in the reference");
  expect_refused(write("seed", "--seed 2"),
                 "the records cannot be compared: seed is 1 in the reference and 2 in the candidate");
  const auto two = write("two", "--stages embed_tokens/layers.0,norm,lm_head");
  set_manifest(two, "clip_epsilon", 1e-6);
  expect_refused(two, "clip_epsilon is 0 in the reference");
  set_manifest(two, "every", 10);
  expect_refused(two, "every is 1 in the reference and 10");
}

}  // namespace
}  // namespace plumbline::testing
