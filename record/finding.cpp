// SPDX-License-Identifier: BSD-3-Clause
#include "record/finding.hpp"

namespace plumbline {
namespace {

std::string in_the_run(const Finding& finding) {
  std::string text = step_words(finding.step, finding.microbatch);
  if (finding.stage) text += ", stage " + std::to_string(*finding.stage);
  if (finding.rank) text += ", rank " + std::to_string(*finding.rank);
  return text;
}

std::string followed_by(const std::string& text) {
  return text.empty() ? "" : ", " + text;
}

}  // namespace

std::string step_words(std::int64_t step, std::optional<std::int64_t> microbatch) {
  const std::string words = step < 0 ? "the start" : "step " + std::to_string(step);
  return microbatch ? words + ", microbatch " + std::to_string(*microbatch) : words;
}

std::string place_text(const Finding& finding) {
  return in_the_run(finding) + followed_by(finding.direction) + followed_by(finding.item);
}

std::string words_of(const Finding& finding) {
  std::string words = finding.source.empty() ? "" : finding.source + ": ";
  words += in_the_run(finding) + followed_by(finding.what.empty() ? finding.item : finding.what);
  if (!finding.why.empty()) words += ": " + finding.why;
  if (!finding.expected.empty() || !finding.got.empty())
    words += " (expected " + finding.expected + ", got " + finding.got + ")";
  return words;
}

}  // namespace plumbline
