// SPDX-License-Identifier: BSD-3-Clause
#include "record/finding.hpp"

#include <fmt/format.h>

namespace plumbline {
namespace {

std::string followed_by(const std::string& text) {
  return text.empty() ? "" : ", " + text;
}

}  // namespace

std::string step_words(std::int64_t step, std::optional<std::int64_t> microbatch) {
  const std::string words = step < 0 ? "the start" : fmt::format("step {}", step);
  return microbatch ? fmt::format("{}, microbatch {}", words, *microbatch) : words;
}

std::string place_in_run(const Finding& finding) {
  std::string text = step_words(finding.step, finding.microbatch);
  if (finding.stage) text += fmt::format(", stage {}", *finding.stage);
  if (finding.rank) text += fmt::format(", rank {}", *finding.rank);
  return text;
}

std::string place_text(const Finding& finding) {
  return place_in_run(finding) + followed_by(finding.direction) + followed_by(finding.item);
}

std::string words_of(const Finding& finding) {
  std::string words = finding.source.empty() ? "" : finding.source + ": ";
  words += place_in_run(finding) + followed_by(finding.what.empty() ? finding.item : finding.what);
  if (!finding.why.empty()) words += ": " + finding.why;
  if (!finding.expected.empty() || !finding.got.empty())
    words += fmt::format(" (expected {}, got {})", finding.expected, finding.got);
  return words;
}

}  // namespace plumbline
