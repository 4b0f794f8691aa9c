// SPDX-License-Identifier: BSD-3-Clause
// What clocks tell of the order of work: within a rank, and between ranks as far as their clocks agree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/judge/judgement.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Demands of every step of a record: actions are issued one after the other, end no earlier than they start and wait
/// no longer than they last; computations of a rank do not overlap; STEP is the last action, and no later step begins
/// before it has ended; a receive does not end before its send began; no computation ends before what it takes has
/// arrived, nor begins before that without having waited; no STEP ends while another rank still computes (its
/// gradient norm needs all gradients). Of an external record a message that arrives before it was sent says that clocks
/// are wrong, by late stamping say, and not the trainer: it is told and not red.
///
/// Not of runs on GPUs whose times are those of launches; not between ranks whose clocks nobody compared (no
/// clock_skew_ns): both are left out with a word. Where a GPU's times are its own, messages keep the host's: they are
/// not held to the order of the computations.
class TimesComparison {
 public:
  TimesComparison(const Record& record, const std::string& whose, Judgement& judgement);
  ~TimesComparison();

  /// Of the rows in hand.
  void step(std::int64_t step);
  /// Of someone else's record whose ranks' times cannot all be right: "timestamps of ranks 1 and 2 contradict each
  /// other by 1.15 ms; the order across ranks was not judged". Else empty.
  std::string contradiction() const;

 private:
  class Times;
  std::unique_ptr<Times> times_;  ///< null where none are compared
};

}  // namespace plumbline::judging
