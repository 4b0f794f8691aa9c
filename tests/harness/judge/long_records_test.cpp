// SPDX-License-Identifier: BSD-3-Clause
// A record is judged in one pass: each row is read once, and memory use does not depend on the number of steps.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "harness/commands/compare.hpp"
#include "harness/judge/judge.hpp"
#include "tests/harness/judge/long_run.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using judging::RecordReading;

/// What a child process measured while it judged.
struct Measured {
  bool holds = false;
  std::int64_t peak_kib = 0;  ///< VmHWM of the process
  double seconds = 0;
  std::int64_t reference = 0, candidate = 0;  ///< rows parsed
};

std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

std::vector<std::string> checks_that_hold(RecordLevel level) {
  std::vector<std::string> checks = {"completion", "data", "loss", "gradient_norm", "memory", "conformance"};
  if (level == RecordLevel::full)
    checks.insert(checks.end(), {"boundaries", "gradients", "parameters", "nonzero_gradients"});
  return checks;
}

Measured judge_in_this_process(RecordLevel level, const std::filesystem::path& reference,
                               const std::filesystem::path& candidate) {
  const auto begin = std::chrono::steady_clock::now();
  RecordReading one(reference), other(candidate);
  const CellVerdict verdict = judging::judge_records({}, one, other, nullptr).verdict;
  for (const auto& check : checks_that_hold(level)) {
    if (result_of(verdict, check).outcome == Outcome::holds) continue;
    std::cerr << comparison_text(verdict);
    return {};
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return {true, peak_kib(), seconds.count(), one.rows_parsed(), other.rows_parsed()};
}

/// Runs in its own process, whose peak memory does not include that of writing the records.
Measured judge(RecordLevel level, const std::filesystem::path& reference, const std::filesystem::path& candidate) {
  int pipe[2];
  if (::pipe(pipe) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const Measured measured = judge_in_this_process(level, reference, candidate);
    ::_exit(::write(pipe[1], &measured, sizeof measured) == static_cast<ssize_t>(sizeof measured) ? 0 : 1);
  }
  ::close(pipe[1]);
  Measured measured;
  if (::read(pipe[0], &measured, sizeof measured) != static_cast<ssize_t>(sizeof measured))
    ADD_FAILURE() << "the child reported nothing";
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return measured;
}

/// A reference and a pipeline's record, both written before any is judged, since a child's peak includes the memory of
/// this process at the time of the fork.
struct WrittenRun {
  WrittenRun(RecordLevel level, std::int64_t steps)
      : level(level),
        cell({.tied = false, .level = to_text(level)}),
        reference(repeat_steps(cell.write_reference(), steps)),
        candidate(repeat_steps(cell.write_candidate(), steps)) {}

  std::int64_t judged() const {
    const Measured measured = judge(level, cell.folder / "reference", cell.folder / "candidate");
    EXPECT_TRUE(measured.holds);
    EXPECT_EQ(measured.reference, reference);
    EXPECT_EQ(measured.candidate, candidate);
    std::cout << measured.reference + measured.candidate << " rows in " << measured.seconds << " s, peak "
              << measured.peak_kib << " KiB\n";
    return measured.peak_kib;
  }

  RecordLevel level;
  SyntheticCell cell;
  std::int64_t reference, candidate;  ///< rows
};

/// The same run with one and with four times the number of steps.
void expect_one_pass_and_no_growth(RecordLevel level, std::int64_t steps) {
  const WrittenRun some(level, steps), many(level, 4 * steps);
  const std::int64_t peak_kib = some.judged(), peak_of_many_kib = many.judged();

#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory to detect later use
  // An allocator's unused memory differs a little from run to run.
  EXPECT_LE(peak_of_many_kib, peak_kib + peak_kib / 10);
#endif
}

TEST(LongRecords, AreJudgedInOnePassWithMemoryIndependentOfTheSteps) {
  expect_one_pass_and_no_growth(RecordLevel::summary, 10000);
}

TEST(LongRecords, AreJudgedAlikeWithEveryTensorAndBoundary) {
  expect_one_pass_and_no_growth(RecordLevel::full, 1000);
}

}  // namespace
}  // namespace plumbline::testing
