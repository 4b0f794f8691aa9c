// SPDX-License-Identifier: BSD-3-Clause
// Which records are of the same run.
#include <gmock/gmock.h>

#include "harness/judge/comparability.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/manifests.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two records of two ranks whose times differ; tests make some of them equal.
class SameRun : public ::testing::Test {
 protected:
  SameRun() {
    for (Record* record : {&one_, &other_}) {
      record->path = folder_ / (record == &one_ ? "one" : "other");
      for (std::int64_t rank = 0; rank < 2; ++rank) {
        record->ranks.emplace_back().rank = rank;
        make_folder(record->path / ("rank-" + std::to_string(rank)));
        for (const char* file : {"steps.csv", "actions.csv"})
          put(*record, rank, file, "step\n" + record->path.filename().string() + "\n");
      }
    }
  }

  static void put(const Record& record, std::int64_t rank, const std::string& file, const std::string& bytes) {
    write_file(record.path / ("rank-" + std::to_string(rank)) / file, bytes);
  }
  void put_both(std::int64_t rank, const std::string& file, const std::string& bytes) {
    put(one_, rank, file, bytes);
    put(other_, rank, file, bytes);
  }
  std::vector<std::string> why() const { return why_the_same_run(one_, other_); }

  TemporaryFolder folder_;
  Record one_ = reference_manifest(), other_ = candidate_manifest();
  const std::string copy_of_rank_1_ =
      "rank-1/steps.csv and actions.csv are byte-equal in both records, times included: one is a copy";
};

TEST_F(SameRun, DifferentTimesAreDifferentRuns) {
  EXPECT_THAT(why(), IsEmpty());
}

TEST_F(SameRun, EqualRunIdsAreOneRun) {
  other_.manifest.run_id = one_.manifest.run_id = "id";
  EXPECT_THAT(why(), ElementsAre("both records are of the same run (run id id): give two different runs"));
}

TEST_F(SameRun, TwoEqualTablesOfOneRankShowACopy) {
  put_both(1, "steps.csv", "step\n1\n");
  EXPECT_THAT(why(), IsEmpty()) << "equal steps are not enough: at level summary they have no times";
  put_both(1, "actions.csv", "step\n1\n");
  EXPECT_THAT(why(), ElementsAre(copy_of_rank_1_));
  put(other_, 1, "steps.csv", "step\n2\n");
  EXPECT_THAT(why(), IsEmpty()) << "equal actions are not enough";
}

TEST_F(SameRun, EmptyTablesShowNothing) {
  for (const char* header : {"step\n", "step"}) {
    for (const char* file : {"steps.csv", "actions.csv"}) put_both(1, file, header);
    EXPECT_THAT(why(), IsEmpty());
  }
}

TEST_F(SameRun, MissingTablesShowNothing) {
  put_both(1, "steps.csv", "step\n1\n");
  for (const Record* record : {&one_, &other_}) std::filesystem::remove(record->path / "rank-1/actions.csv");
  EXPECT_THAT(why(), IsEmpty());

  put(one_, 1, "actions.csv", "step\n1\n");
  EXPECT_THAT(why(), IsEmpty());
}

TEST_F(SameRun, FindsADifferenceFarDownATable) {
  put_both(1, "steps.csv", "step\n1\n");
  const std::string rows = "step\n" + std::string(std::size_t{3} << 16, '1') + "\n";
  put_both(1, "actions.csv", rows + "2\n");
  EXPECT_THAT(why(), ElementsAre(copy_of_rank_1_));

  put(other_, 1, "actions.csv", rows + "3\n");
  EXPECT_THAT(why(), IsEmpty());
  put(other_, 1, "actions.csv", rows + "2\n4\n");
  EXPECT_THAT(why(), IsEmpty()) << "longer";
}

}  // namespace
}  // namespace plumbline::testing
