// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/hints.hpp"

#include <utility>

#include "harness/judge/hints/factors.hpp"
#include "harness/judge/hints/looks.hpp"

namespace plumbline::judging {

void Hints::note(const StepEvidence& now) {
  if (now.step < 0) return;
  if (!factor_) {
    if (auto factor = gradient_factor(now)) factor_ = {now.step, std::move(*factor)};
  }
  if (!tied_) {
    if (auto words = tied_gradient_words(now); !words.empty()) tied_ = {now.step, std::move(words)};
  }
  if (!loss_) {
    if (auto words = loss_factor_words(now)) loss_ = {now.step, std::move(*words)};
  }
  if (!still_) {
    if (auto words = still_weights(now); !words.empty()) still_ = {now.step, std::move(words)};
  }
}

std::string Hints::of(const CheckResult& result) const {
  if (!result.first_divergence) return "";
  const Finding& divergence = *result.first_divergence;
  if (result.name == "gradients") return of_gradient(divergence);
  if (result.name == "loss") return of_loss(divergence);
  if (result.name == "boundaries" && divergence.direction == "backward" && factor_ && factor_->words.ratio != 0 &&
      factor_->step == divergence.step)
    return factor_->words.words;
  if (result.name == "parameters" && divergence.step < 0 && !divergence.size.empty())
    return "the two begin with other weights: draw the whole model's once, or load one file, and give each stage its "
           "part";
  if (result.name != "parameters" || !still_ || still_->step != divergence.step) return "";
  if (divergence.item == "updated") return still_->words.begin()->second;
  const auto found = still_->words.find(divergence.stage.value_or(-1));
  return found == still_->words.end() ? "" : found->second;
}

std::string Hints::of_gradient(const Finding& divergence) const {
  if (factor_ && factor_->step == divergence.step && factor_->words.ratio != 0) return factor_->words.words;
  if (tied_ && tied_->step == divergence.step) {
    const auto found = tied_->words.find(divergence.item);
    if (found != tied_->words.end()) return found->second;
  }
  return factor_ && factor_->step == divergence.step ? factor_->words.words : "";
}

std::string Hints::of_loss(const Finding& divergence) const {
  if (!loss_ || loss_->step != divergence.step) return "";
  if (factor_ && factor_->step == divergence.step && factor_->words.ratio != 0)
    return "check the gradients first: " + factor_->words.words;
  return loss_->words;
}

}  // namespace plumbline::judging
