// SPDX-License-Identifier: BSD-3-Clause
// Causal order of actions by their timestamps: within a rank, and between ranks as far as their clocks are
// synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/judge/check_result_builder.hpp"
#include "record/record.hpp"

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
  TimesComparison(const Record& record, const std::string& whose, CheckResultBuilder& builder);
  ~TimesComparison();

  /// Judges the current rows.
  void step(std::int64_t step);
  /// For an external record with contradictory times: "timestamps of ranks 1 and 2 contradict each other by 1.15 ms;
  /// the order across ranks was not judged". Else empty.
  std::string contradiction() const;

 private:
  class Times;
  std::unique_ptr<Times> times_;  ///< null if no times are compared
};

}  // namespace plumbline::judging
