// SPDX-License-Identifier: BSD-3-Clause
// Runs GoogleTest on every rank of one MPI job. Rank 0 reports as usual, the others only failures; a failure on any
// rank fails the job.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string>

#include "tests/one_thread.hpp"

namespace {

/// Prefixes failures with the rank.
class FailuresOnly : public ::testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

  // Stored here, because GoogleTest holds the lock of current_test_info() while it reports a result.
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::printf("rank %d, %s, %s:%d: %s\n", rank_, test_.c_str(),
                result.file_name() == nullptr ? "" : result.file_name(), result.line_number(), result.message());
    std::fflush(stdout);
  }

 private:
  int rank_;
  std::string test_;
};

}  // namespace

int main(int argc, char** argv) {
  plumbline::testing::use_one_thread(argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ::testing::InitGoogleTest(&argc, argv);
  if (rank != 0) {
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(rank));
  }
  const int failed_here = RUN_ALL_TESTS();
  // A job in which no test ran is a failure.
  const int empty_here = ::testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 1 : 0;
  const int own = failed_here != 0 || empty_here != 0 ? 1 : 0;
  int any = 0;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
