// SPDX-License-Identifier: BSD-3-Clause
// A correct record with one changed number fails at that number.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "harness/judge/audit/audit.hpp"
#include "record/record_error.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline::auditing {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TemporaryFolder;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  if (!text.empty() && text.back() == separator) parts.emplace_back();
  return parts;
}

/// One cell of a table, `line` counted from 1.
struct Change {
  std::string file;
  std::size_t line;
  std::string column, text;
  std::string item;  ///< what the finding names
};

void PrintTo(const Change& change, std::ostream* out) {
  *out << change.file << ":" << change.line << ", " << change.column;
}

std::string change_name(const ::testing::TestParamInfo<Change>& info) {
  std::string name = split(info.param.file, '/').back() + "_" + info.param.column;
  for (char& c : name) c = c == '.' || c == '-' ? '_' : c;
  return name;
}

class HandChanged : public ::testing::TestWithParam<Change> {
 protected:
  std::filesystem::path right() {
    testing::TrainedRun trained{testing::synthetic_candidate(testing::trained_plan("adamw", false))};
    return trained.write(folder_ / "record");
  }
  static void put(const std::filesystem::path& record, const Change& change) {
    auto lines = split(read_file(record / change.file), '\n');
    const auto names = split(lines.at(0), ',');
    auto cells = split(lines.at(change.line - 1), ',');
    const auto column = std::find(names.begin(), names.end(), change.column) - names.begin();
    auto& cell = cells.at(static_cast<std::size_t>(column));
    ASSERT_NE(cell, change.text);
    cell = change.text;
    lines[change.line - 1] = cells[0];
    for (std::size_t i = 1; i < cells.size(); ++i) lines[change.line - 1] += "," + cells[i];
    std::string text;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) text += lines[i] + "\n";
    write_file(record / change.file, text);
  }
  TemporaryFolder folder_;
};

// Rank 1 of two holds layers.1, norm and lm_head, and the loss. Lines 2 and 3 of its steps.csv are the two steps; line
// 13 of tensors.csv is the first gradient of step 0.
INSTANTIATE_TEST_SUITE_P(
    , HandChanged,
    ::testing::Values(Change{"rank-1/steps.csv", 2, "loss", "2.5", "loss"},
                      Change{"rank-1/steps.csv", 2, "gradient_norm", "1.5", "gradient_norm"},
                      Change{"rank-0/steps.csv", 3, "clip_coefficient", "0.9999999999999999", "clip_coefficient"},
                      Change{"rank-0/steps.csv", 2, "learning_rate", "0.005000000000000001", "learning_rate"},
                      Change{"rank-0/steps.csv", 3, "tokens", "14", "tokens"},
                      Change{"rank-1/steps.csv", 3, "valid_tokens", "9", "valid_tokens"},
                      Change{"rank-1/microbatches.csv", 3, "loss", "0.25", "loss"},
                      Change{"rank-1/microbatches.csv", 5, "tokens", "2", "tokens"},
                      Change{"rank-1/microbatches.csv", 4, "valid_tokens", "3", "valid_tokens"},
                      Change{"rank-1/tensors.csv", 14, "digest", testing::other_digest, "digest of"},
                      Change{"rank-1/tensors.csv", 14, "l2", "9.25", "l2 of"},
                      Change{"rank-1/tensors.csv", 14, "max_abs", "3.75", "max_abs of"},
                      Change{"rank-1/tensors.csv", 14, "nonzero", "3", "nonzero of"},
                      Change{"rank-1/tensors.csv", 14, "nonzero_rows", "1", "nonzero_rows of"},
                      Change{"rank-1/tensors.csv", 14, "nan", "1", "nan of"},
                      Change{"rank-1/tensors.csv", 14, "inf", "1", "inf of"},
                      Change{"rank-1/tensors.csv", 14, "dtype", "bfloat16", "dtype of"},
                      Change{"rank-1/boundaries.csv", 2, "digest", testing::other_digest, "boundary"}),
    change_name);

TEST_P(HandChanged, IsRedAtThatNumber) {
  const Change& change = GetParam();
  const auto record = right();
  ASSERT_THAT(audit_record(record).findings, SizeIs(0));
  put(record, change);

  const Audit audit = audit_record(record);

  // A microbatch's number is seen in the sum of its step.
  const bool in_sum = change.file.ends_with("microbatches.csv");
  const std::string place = in_sum ? "rank-1/steps.csv:2" : change.file + ":" + std::to_string(change.line);
  EXPECT_THAT(audit.findings, ::testing::Contains(AllOf(Field(&Finding::source, place),
                                                        Field(&Finding::item, HasSubstr(change.item)))));
}

using RefusedByHand = HandChanged;

// What a row contradicts by itself: `item` is what the reader says of the cell.
INSTANTIATE_TEST_SUITE_P(
    , RefusedByHand,
    ::testing::Values(Change{"rank-1/microbatches.csv", 4, "tokens", "5", "is more than batch x sequence_length, 4"},
                      Change{"rank-1/boundaries.csv", 2, "bytes", "47", "is not the size by shape and dtype"}),
    change_name);

TEST_P(RefusedByHand, IsNotReadAndNamesThatCell) {
  const Change& change = GetParam();
  const auto record = right();
  put(record, change);

  try {
    read_record(record);
    ADD_FAILURE() << "was read";
  } catch (const RecordError& error) {
    EXPECT_EQ(error.place().file, change.file);
    EXPECT_EQ(error.place().rank, 1);
    EXPECT_EQ(error.place().step, 0);
    EXPECT_THAT(error.what(), HasSubstr(change.file + ":" + std::to_string(change.line) + ": column '" + change.column +
                                        "': '" + change.text + "' " + change.item));
  }
}

class ChangedDump : public HandChanged {
 protected:
  /// Flips one bit of a file's last tensor.
  static void flip(const std::filesystem::path& file) {
    std::string bytes = read_file(file);
    bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
    write_file(file, bytes);
  }
};

TEST_F(ChangedDump, OneBitIsRedInThatTensor) {
  const auto record = right();
  flip(record / "rank-1" / "dumps" / "step-1.safetensors");

  const Audit audit = audit_record(record);

  ASSERT_FALSE(audit.findings.empty());
  EXPECT_THAT(words_of(audit.findings.front()), HasSubstr("rank-1/dumps/step-1.safetensors"));
  for (const Finding& finding : audit.findings) EXPECT_EQ(finding.step, 1);
}

TEST_F(ChangedDump, MoreBytesThanAskedForAreToldAsNotAudited) {
  const auto record = right();
  flip(record / "rank-1" / "dumps" / "step-1.safetensors");

  const Audit audit = audit_record(record, {true, 1000});

  EXPECT_THAT(audit.findings, SizeIs(0));
  EXPECT_FALSE(audit.from_values);
  EXPECT_THAT(audit.not_audited, ::testing::ElementsAre(HasSubstr("more than 1000")));
}

TEST_F(ChangedDump, ARankThatDidNotEndIsAFindingAndItsNumbersAreNotAudited) {
  const auto record = right();
  std::filesystem::remove(record / "rank-1" / "exit.json");

  const Audit audit = audit_record(record);

  ASSERT_THAT(audit.findings, SizeIs(1));
  EXPECT_EQ(audit.findings[0].source, "rank-1/exit.json");
  EXPECT_THAT(audit.not_audited, ::testing::ElementsAre(HasSubstr("not complete")));
}

}  // namespace
}  // namespace plumbline::auditing
