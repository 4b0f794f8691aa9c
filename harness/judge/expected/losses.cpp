// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/losses.hpp"

#include <cmath>

#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

void compare(const std::string& column, std::int64_t expected, std::int64_t got, std::vector<CellDifference>& found) {
  if (expected != got) found.push_back({column, to_text(expected), to_text(got)});
}

}  // namespace

bool LossSum::admits(float whole) const {
  const double rounding = static_cast<double>(2 * microbatches_ + 1) * std::ldexp(1.0, -24) * std::abs(sum_);
  return std::abs(static_cast<double>(whole) - sum_) <= rounding;
}

std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens) {
  if (loss < 0) return "a cross-entropy, which is never below 0";
  if (valid_tokens == 0 && loss != 0) return "0, without a valid token";
  return std::nullopt;
}

std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches) {
  LossSum loss;
  std::int64_t tokens = 0, valid_tokens = 0;
  for (const EvaluationRow* row : microbatches) {
    loss.add(row->loss);
    tokens += row->tokens;
    valid_tokens += row->valid_tokens;
  }
  std::vector<CellDifference> found;
  if (!loss.admits(whole.loss)) found.push_back({"loss", to_text(loss.sum()), to_text(whole.loss)});
  compare("tokens", tokens, whole.tokens, found);
  compare("valid_tokens", valid_tokens, whole.valid_tokens, found);
  return found;
}

std::vector<CellDifference> differences_of_data(const EvaluationRow& earlier, const EvaluationRow& now) {
  std::vector<CellDifference> found;
  if (earlier.data_digest != now.data_digest) found.push_back({"data_digest", earlier.data_digest, now.data_digest});
  compare("tokens", earlier.tokens, now.tokens, found);
  compare("valid_tokens", earlier.valid_tokens, now.valid_tokens, found);
  return found;
}

}  // namespace plumbline::judging
