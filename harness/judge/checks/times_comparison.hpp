// SPDX-License-Identifier: BSD-3-Clause
// What conformance demands of the times in a record's actions.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/check_result_builder.hpp"
#include "record/record.hpp"
#include "schedule/action.hpp"

namespace plumbline::judging {

/// Demands for every step of a record: actions are issued in order, end no earlier than they start and wait no longer
/// than they last; computations of a rank do not overlap; STEP is the last action, and no later step begins before it
/// has ended; a receive does not end before its send began; no computation ends before its inputs have arrived, or
/// begins before that without a wait; no STEP ends while another rank still computes (its gradient norm needs all
/// gradients). If a message of an external record arrives before it was sent, the clocks are wrong, for example by late
/// stamping, and not the trainer: this is reported and does not fail.
///
/// Not applied to runs on GPUs whose times are those of launches, nor between ranks whose clocks were not compared (no
/// clock_skew_ns); both are reported as skipped. With times from the GPU, messages still have the host's times and are
/// not compared with computations.
class TimesComparison {
 public:
  /// Keeps references to both.
  TimesComparison(const Record& record, std::string whose, CheckResultBuilder& builder);

  /// Judges the current rows.
  void step(std::int64_t step);

  /// For an external record with contradictory times: "timestamps of ranks 1 and 2 contradict each other by 1.15 ms;
  /// the order across ranks was not judged". Else empty.
  std::string contradiction() const;

 private:
  struct Timed {
    std::int64_t rank = 0;
    const ActionRow* row = nullptr;
    Action action;
  };

  /// Demands on one rank's clock.
  void own_order(const RankRecord& rank, std::int64_t& last_step_end);
  void duration(const RankRecord& rank);
  void messages();
  void updates();
  void note_contradiction(const Timed& receive, const Timed& send);
  /// True if the times differ by more than the clocks may.
  bool before(std::int64_t one, std::int64_t other) const;
  void report(std::int64_t rank, const ActionRow& row, const std::string& expected, const std::string& got);
  void report_duration(std::int64_t rank, const std::string& item, const std::string& expected, const std::string& got,
                       const std::string& why);
  void report_at(const ExecutionPoint& point, std::int64_t rank, const std::string& item, const std::string& what,
                 const std::string& expected, const std::string& got, const std::string& why);

  const Record& record_;
  std::string whose_;
  CheckResultBuilder& builder_;
  bool on_gpu_;
  bool compared_;  ///< false: times are those of launches
  bool waits_recorded_;
  std::optional<double> skew_;  ///< nullopt: unknown
  std::int64_t step_ = 0;
  std::int64_t contradiction_ = 0;           ///< largest contradiction in nanoseconds
  std::string contradicting_;                ///< its ranks
  std::vector<std::int64_t> last_step_end_;  ///< by rank
  std::vector<Timed> timed_;                 ///< of the step, ordered by rank
};

}  // namespace plumbline::judging
