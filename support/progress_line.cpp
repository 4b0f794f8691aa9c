// SPDX-License-Identifier: BSD-3-Clause
#include "support/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "support/plain_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto terminal_interval = std::chrono::milliseconds(100);
constexpr auto log_interval = std::chrono::seconds(10);

/// Without the sign of a NaN.
std::string loss_text(double loss) {
  return std::isnan(loss) ? "nan" : fmt::format("{:.4f}", loss);
}

std::string rate_text(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f}M", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 2 * 3600) return fmt::format("{} min", (whole + 59) / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string step_line(const StepProgress& now, double seconds, std::int64_t first) {
  std::string line = fmt::format("step {}/{}", now.done, now.total);
  if (now.loss) line += "  loss " + loss_text(*now.loss);
  if (now.evaluation_loss) line += "  evaluation " + loss_text(*now.evaluation_loss);
  if (now.learning_rate) line += fmt::format("  rate {:.2e}", *now.learning_rate);
  if (now.epochs) line += fmt::format("  epoch {:.2f}", *now.epochs);
  const auto made = static_cast<double>(now.done - first);  // steps of this process
  if (seconds > 0)
    line += fmt::format("  {} tokens/s", rate_text(made * static_cast<double>(now.step_tokens) / seconds));
  if (made > 0 && seconds > 0) {
    const double each = seconds / made;
    line += "  remaining " + duration_text(each * static_cast<double>(now.total - now.done));
  }
  return line;
}

ProgressLine::ProgressLine(std::FILE* out, std::int64_t first)
    : out_(out),
      first_(first),
      terminal_(::isatty(::fileno(out)) == 1),
      start_(Clock::now()),
      shown_(Clock::time_point::min()) {}

void ProgressLine::step(const StepProgress& now) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  text(printable_lines(step_line(now, seconds, first_)), now.done == now.total);
}

void ProgressLine::text(const std::string& line, bool last) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const bool first = shown_ == Clock::time_point::min();
  const auto interval = terminal_ ? Clock::duration(terminal_interval) : Clock::duration(log_interval);
  if (!first && !last && now - shown_ < interval) return;
  shown_ = now;
  if (terminal_)  // a wrapped line could not be rewritten
    std::fprintf(out_, "\r\x1b[K%s", (last ? line : line.substr(0, line_width(out_) - 1)).c_str());
  else
    std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void ProgressLine::finish() {
  const std::lock_guard lock(mutex_);
  if (terminal_ && shown_ != Clock::time_point::min()) std::fputc('\n', out_);
  std::fflush(out_);
  shown_ = Clock::time_point::min();
}

}  // namespace plumbline
