// SPDX-License-Identifier: BSD-3-Clause
// A training with consistent values, its dumps and tables changed by the test, and the findings of its recomputation.
#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/judge/audit/audit.hpp"
#include "record/rank_folder.hpp"
#include "support/safetensors.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline::testing {

using auditing::Audit;
using auditing::audit_record;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

inline std::vector<std::string> words_of(const Audit& audit) {
  std::vector<std::string> all;
  for (const Finding& finding : audit.findings) all.push_back(words_of(finding));
  return all;
}

inline const std::string norm_weight = "model.norm.weight";  // 4 elements, on rank 1 of two

class AuditedValues : public ::testing::Test {
 protected:
  using Path = std::filesystem::path;
  using Tensors = std::map<std::string, SafetensorsEntry>;

  Path write() { return trained.write(folder_ / std::to_string(++written_)); }

  /// Writes the record's tables again, in a separate folder with the same dumps.
  Path with_tables(const Path& record, const std::function<void(SyntheticRun&)>& change) {
    SyntheticRun run = trained.run;
    change(run);
    const Path folder = folder_ / std::to_string(++written_);
    write_run(run, folder);
    for (const RankRecord& rank : run.ranks) {
      std::filesystem::copy(record / rank_folder(rank.rank) / "dumps", folder / rank_folder(rank.rank) / "dumps");
    }
    return folder;
  }

  /// Rewrites a dump with other tensors.
  static void change_dump(const Path& record, const std::string& name, const std::function<void(Tensors&)>& change) {
    const SafetensorsFile file(record / name);
    Tensors tensors = file.entries();
    change(tensors);
    std::vector<NamedBytes> named;
    for (const auto& [key, entry] : tensors) named.push_back({key, entry});
    write_safetensors(record / name, named);
  }

  static void leave_out(const Path& record, const std::string& name, const std::string& key) {
    change_dump(record, name, [&](Tensors& tensors) { ASSERT_EQ(tensors.erase(key), 1U) << key; });
  }

  static void expect_none(const Path& record) {
    for (const Finding& finding : audit_record(record).findings) ADD_FAILURE() << words_of(finding);
  }

  /// Expects only this finding: its place, and the expected and recorded values.
  static void expect_one(const Path& record, const std::string& level, const std::string& where,
                         const std::string& numbers) {
    const Audit found = audit_record(record);
    for (const Finding& finding : found.findings) {
      EXPECT_EQ(finding.level, level) << words_of(finding);
      EXPECT_THAT(words_of(finding), AllOf(StartsWith(where), EndsWith(numbers)));
    }
    EXPECT_THAT(found.findings, SizeIs(1)) << where;
  }

  TrainedRun trained{synthetic_candidate(trained_plan("adamw", /*tied=*/false))};

 private:
  TemporaryFolder folder_;
  int written_ = 0;
};

inline std::string line_of(const SyntheticRun& run, const TensorRow& row) {
  for (const RankRecord& rank : run.ranks) {
    const auto distance = &row - rank.tensors.data();
    if (distance >= 0 && distance < std::ssize(rank.tensors))
      return "rank-" + std::to_string(rank.rank) + "/tensors.csv:" + std::to_string(distance + 2);
  }
  throw std::logic_error("no row of this run");
}

}  // namespace plumbline::testing
