// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/evaluation_rows.hpp"

#include <cmath>

#include "harness/judge/expected/loss_sum.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

void compare(const std::string& column, std::int64_t expected, std::int64_t got, std::vector<CellDifference>& found) {
  if (expected != got) found.push_back({column, to_text(expected), to_text(got)});
}

}  // namespace

std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches) {
  double loss = 0;
  std::int64_t tokens = 0, valid_tokens = 0;
  for (const EvaluationRow* row : microbatches) {
    loss += static_cast<double>(row->loss);
    tokens += row->tokens;
    valid_tokens += row->valid_tokens;
  }
  std::vector<CellDifference> found;
  const double off = std::abs(static_cast<double>(whole.loss) - loss);
  if (!(off <= rounding_of_loss_sum(std::ssize(microbatches), loss)))
    found.push_back({"loss", to_text(loss), to_text(whole.loss)});
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
