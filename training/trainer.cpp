// SPDX-License-Identifier: BSD-3-Clause
#include "training/trainer.hpp"

#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "model/flops.hpp"
#include "support/error.hpp"
#include "training/action_log.hpp"
#include "training/checkpoint/load_checkpoint.hpp"
#include "training/loss.hpp"

namespace plumbline {
namespace {

/// Whether an evaluation follows this step: every `evaluate.every` steps and after the last.
bool evaluation_due(const Run& run, std::int64_t step) {
  const std::int64_t every = run.file.evaluate.every;
  return step + 1 == run.train.steps || (every > 0 && (step + 1) % every == 0);
}

}  // namespace

std::vector<EvaluationRow> evaluation_rows(std::int64_t step, const BatchPlan& plan, const EvaluationResult& result) {
  std::vector<EvaluationRow> rows;
  for (std::int64_t microbatch = 0; microbatch < plan.microbatches(); ++microbatch) {
    const auto index = static_cast<std::size_t>(microbatch);
    rows.push_back({step, microbatch, plan.tokens(microbatch), plan.valid_tokens(0, microbatch),
                    result.losses.at(index), result.data_digests.at(index)});
  }
  rows.push_back({step, std::nullopt, plan.step_tokens(), plan.step_valid_tokens(0), result.loss(), {}});
  return rows;
}

float EvaluationResult::loss() const {
  return step_loss(losses);
}

void Trainer::begin() {
  if (run_.checkpoint.folder) checkpoints_.emplace(run_, group());
  if (run_.resume) resumed_from_ = resume_training(*run_.resume, run_, state(), group());
  if (checkpoints_) checkpoints_->start_after(resumed_from_);
  if (resumed_from_ && state().step >= last_step()) {
    const std::string raise = last_step() < run_.train.steps ? "--stop-after" : "train.steps";
    if (run_.recorded()) {
      throw InputError(*run_.resume + ": has made all " + std::to_string(state().step) +
                       " steps, so none is left to record; omit --record, or raise " + raise);
    }
    if (group().rank() == 0) {
      std::fprintf(stderr, "note: all %lld steps are already made: none is left to train; raise %s to continue\n",
                   static_cast<long long>(state().step), raise.c_str());
    }
  }
  if (!reports_) return;
  const auto& saved_in = run_.checkpoint.folder;
  if (saved_in || run_.recorded())
    metrics_.emplace(saved_in ? *saved_in : recorder_.writer().folder().parent_path(), state().step);
}

std::int64_t Trainer::last_step() const {
  return std::min(run_.train.steps, run_.stop_after.value_or(run_.train.steps));
}

ExitCode Trainer::succeeded() {
  ending(true);
  const bool by_signal = stopped_ && checkpoints_->stopped_by_signal();
  const ExitCode code = by_signal ? ExitCode::stopped : ExitCode::holds;
  // "stopped": saved and ended on request, with an incomplete record.
  recorder_.run_ended(stopped_ ? "stopped" : "ok", static_cast<int>(code));
  return code;
}

void Trainer::failed(const std::string& status, const std::vector<std::int64_t>& waited_for) {
  try {
    ending(false);
    recorder_.run_ended(status, static_cast<int>(ExitCode::does_not_hold), waited_for);
  } catch (const Error&) {  // on a full disk exit.json is lost too; the first error counts
  }
}

std::optional<float> Trainer::evaluate_if_due(std::int64_t step) {
  if (!run_.validation || !evaluation_due(run_, step)) return std::nullopt;
  const std::optional<EvaluationResult> result = evaluate(step);
  if (!result) return std::nullopt;
  if (run_.recorded()) {
    for (EvaluationRow& row : evaluation_rows(step, *run_.validation, *result)) recorder_.writer().add(std::move(row));
    recorder_.writer().flush();
  }
  return result->loss();
}

void Trainer::end_at(const NotFinite& found) {
  const std::string name = group().first_nonempty(found.first_in);
  const std::string remains = checkpoints_ ? checkpoints_->finish() : "";
  throw RunError(std::string(found.what()) + ", first in " + name + ": training ends before this update; " +
                 (remains.empty() ? "there is no checkpoint" : "the last checkpoint remains, " + remains) +
                 ". A smaller learning rate, a longer warm-up or train.clip_norm may help");
}

void Trainer::run(bool show_progress) {
  recorder_.run_began(state());
  ready();
  std::optional<ProgressLine> line;
  if (show_progress && reports_) line.emplace(stderr, state().step);
  if (line) show_waits_on(&*line);
  const auto line_ends = c10::make_scope_exit([this] { show_waits_on(nullptr); });
  const std::int64_t steps = run_.train.steps;
  std::optional<float> evaluation_loss;  // the most recent one
  const double flops_of_device =
      step_flops(run_.config, run_.batches.padded_rows()) / static_cast<double>(group().size());
  for (std::int64_t step = state().step; step < last_step(); ++step) {
    const std::int64_t begin_ns = monotonic_ns();
    recorder_.step_began(step);
    zero_gradients(state());
    try {
      train_step(step);
    } catch (const NotFinite& found) {
      end_at(found);
    }
    recorder_.step_ended(step);
    step_recorded(step);
    const double seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
    const std::optional<float> evaluated = evaluate_if_due(step);
    if (evaluated) evaluation_loss = evaluated;
    if (line) {
      line->step({.done = step + 1,
                  .total = steps,
                  .loss = recorder_.loss(),
                  .evaluation_loss = evaluation_loss,
                  .learning_rate = recorder_.update().learning_rate,
                  .step_tokens = run_.batches.step_tokens(),
                  .epochs = run_.batches.epochs(step + 1)});
    }
    const auto write_row = [&](double saving_seconds, bool saved) {
      if (!metrics_) return;
      const double tflops = flops_of_device / seconds * 1e-12;
      const std::optional<double>& peak = run_.train.peak_tflops;
      metrics_->add(step,
                    {.loss = recorder_.loss(),
                     .evaluation_loss = evaluated,
                     .tokens = run_.batches.step_tokens(),
                     .epochs = run_.batches.epochs(step + 1),
                     .seconds = seconds,
                     .waited_seconds = recorder_.waited_seconds(),
                     .tflops = tflops,
                     .utilization = peak ? std::optional(tflops / *peak) : std::nullopt,
                     .saving_seconds = saving_seconds},
                    recorder_.update());
      if (saved) metrics_->sync();
    };
    if (checkpoints_) {
      stopped_ = checkpoints_->step_ended(state(), write_row);
    } else {
      write_row(0, false);
    }
    if (stopped_) break;
  }
  if (line) line->finish();
  if (checkpoints_) checkpoints_->require_saved();
}

}  // namespace plumbline
