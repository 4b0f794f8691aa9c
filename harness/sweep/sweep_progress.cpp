// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/plain_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

/// A run that is quick needs no line of its own in a log.
constexpr double long_run_s = 20;

}  // namespace

SweepProgress::SweepProgress(std::FILE* out, std::size_t runs, double work, Now now)
    : now_(std::move(now)),
      terminal_(isatty(fileno(out)) == 1),
      out_(out),
      progress_(out),
      start_(now_()),
      runs_(runs),
      remaining_(work) {}

double SweepProgress::seconds_since(std::chrono::steady_clock::time_point start) const {
  return std::chrono::duration<double>(now_() - start).count();
}

void SweepProgress::begin(const std::string& what, double work) {
  remaining_.begin(elapsed_s(), work);
  running_.push_back({what, work, now_()});
  ++begun_;
  if (terminal_) tick();
}

void SweepProgress::tick() {
  if (running_.empty()) return;
  const double running_s = seconds_since(running_.front().start);
  const std::string others = running_.size() > 1 ? " and " + std::to_string(running_.size() - 1) + " more" : "";
  if (!terminal_ && running_s < long_run_s) return;
  const auto left_s = remaining_.left_s(elapsed_s());
  const std::string line =
      fmt::format("[{}/{}] {}{}  running {:.0f} s, elapsed {:.0f} s{}", begun_, runs_, running_.front().what, others,
                  running_s, elapsed_s(), left_s ? ", " + estimate_text(*left_s) : "");
  progress_.text(printable_lines(line), false);
}

void SweepProgress::end(const std::string& what) {
  const auto found =
      std::ranges::find_if(running_, [&](const ActiveRun& each) { return what.empty() || each.what == what; });
  if (found == running_.end()) return;
  remaining_.end(elapsed_s(), found->work);
  running_.erase(found);
}

void SweepProgress::say(const std::string& id, const std::string& state, double seconds, const std::string& why) {
  line(fmt::format("[{}/{}] {}  {:.1f} s  {}{}", ++said_, runs_, id, seconds, state, why.empty() ? "" : "\n  " + why));
}

void SweepProgress::skip(double work) {
  ++begun_;
  ++said_;
  remaining_.skip(work);
}

void SweepProgress::line(const std::string& text) {
  progress_.text(for_people(text, out_), true);
  progress_.finish();
}

std::string estimate_text(double left_s) {
  if (left_s < 90) return "about " + std::to_string(std::lround(left_s)) + " s left";
  return "about " + std::to_string(std::lround(left_s / 60)) + " min left";
}

void RemainingTime::begin(double now_s, double work) {
  if (!started_) start_s_ = now_s;  // exclude the time of reading kept results
  started_ = true;
  if (!(running_ > 0)) began_s_ = now_s;
  running_ += work;
}

void RemainingTime::end(double now_s, double ended) {
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
