// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/remaining_time.hpp"

#include <algorithm>

namespace plumbline {

void RemainingTime::begin(double now_s, double work) {
  if (!started_) start_s_ = now_s;  // exclude the time of reading kept results
  started_ = true;
  if (!(running_ > 0)) began_s_ = now_s;
  running_ += work;
}

void RemainingTime::end(double now_s, std::optional<double> work) {
  const double ended = work.value_or(running_);
  const bool as_long_as_expected = done_ > 0 && now_s - began_s_ <= spent_s_ / done_ * ended;
  spent_s_ = now_s - start_s_;
  done_ += ended;
  running_ = std::max(running_ - ended, 0.0);
  began_s_ = now_s;
  if (!as_long_as_expected) end_s_.reset();
}

std::optional<double> RemainingTime::left_s(double now_s) {
  const double after = work_ - done_ - running_;
  if (!(done_ > 0) || !(work_ - done_ > 0)) return std::nullopt;
  const double rate = spent_s_ / done_;
  const double of_this = rate * running_ - (now_s - began_s_);
  const double end_s = now_s + std::max(of_this, 0.0) + rate * std::max(after, 0.0);
  // Only a run that takes longer than expected moves the end back.
  const bool overdue = running_ > 0 && of_this < 0;
  end_s_ = end_s_ && !overdue ? std::min(*end_s_, end_s) : end_s;
  return std::max(*end_s_ - now_s, 0.0);
}

}  // namespace plumbline
