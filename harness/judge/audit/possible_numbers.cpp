// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/possible_numbers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/expected/evaluation_rows.hpp"
#include "harness/judge/expected/expected_model.hpp"
#include "harness/judge/expected/loss_sum.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

class NumbersOfStep {
 public:
  NumbersOfStep(const AuditedStep& audited, Audit& audit)
      : audited_(audited),
        audit_(audit),
        cross_entropy_(audited.manifest().traits.llama && audited.manifest().recorded({"inputs", "labels"})) {}

  /// True if all numbers are finite.
  bool look() {
    for (const RankRecord& rank : audited_.record().ranks) {
      const RowsBefore& before = audited_.rows_before(rank.rank);
      for (std::size_t i = 0; i < rank.microbatches.size(); ++i) {
        const MicrobatchRow& row = rank.microbatches[i];
        const RowPlace place{audited_.step(), rank.rank, "microbatches.csv", before.microbatches + i, row.microbatch};
        if (row.loss) loss(place, part::loss, *row.loss, row.valid_tokens);
      }
      for (std::size_t i = 0; i < rank.steps.size(); ++i) {
        const StepRow& row = rank.steps[i];
        const RowPlace place{audited_.step(), rank.rank, "steps.csv", before.steps + i, {}};
        if (row.loss) loss(place, part::loss, *row.loss, row.valid_tokens);
        if (row.gradient_norm) finite(place, part::norm, "gradient_norm", *row.gradient_norm);
      }
      for (std::size_t i = 0; i < rank.evaluation.size(); ++i) {
        const EvaluationRow& row = rank.evaluation[i];
        loss({audited_.step(), rank.rank, "evaluation.csv", before.evaluation + i, row.microbatch}, part::evaluation,
             row.loss, row.valid_tokens);
      }
    }
    for (const TensorPlace& place : audited_.tensors()) tensor(place);
    return finite_;
  }

  void evaluation(std::map<std::int64_t, EvaluationRow>& first) {
    if (audited_.step() < 0 || !audited_.manifest().evaluates_after(audited_.step())) return;
    bool any = false;
    for (const RankRecord& rank : audited_.record().ranks) {
      if (rank.evaluation.empty()) continue;
      any = true;
      evaluation(rank, first);
    }
    if (any) return;
    audit_.findings.push_back({.level = part::evaluation,
                               .step = audited_.step(),
                               .source = "evaluation.csv",
                               .item = "rows",
                               .expected = "an evaluation",
                               .got = "none",
                               .why = "manifest.json has an evaluation after this step"});
  }

 private:
  bool finite(const RowPlace& place, const std::string& level, const std::string& item, double value) {
    if (std::isfinite(value)) return true;
    report(place, level, item, "a finite number", to_text(value), "not finite");
    return finite_ = false;
  }

  void loss(const RowPlace& place, const std::string& level, float loss, std::int64_t valid_tokens) {
    if (!finite(place, level, "loss", static_cast<double>(loss)) || !cross_entropy_) return;
    const auto impossible = judging::why_no_loss(loss, valid_tokens);
    if (impossible) report(place, level, "loss", *impossible, to_text(loss), "no sum of cross-entropies is this");
  }

  void tensor(const TensorPlace& place) {
    const TensorRow& row = *place.row;
    if (row.nan + row.inf == 0) return;
    audit_.findings.push_back(at_tensor(place, fmt::format("{} {}", row.kind, row.name), "finite values",
                                        fmt::format("{} NaN and {} infinite", row.nan, row.inf), "not finite"));
    finite_ = false;
  }

  void evaluation(const RankRecord& rank, std::map<std::int64_t, EvaluationRow>& first) {
    const std::size_t before = audited_.rows_before(rank.rank).evaluation;
    std::map<std::int64_t, std::int64_t> rows;  ///< by microbatch; -1: the sum
    std::vector<const EvaluationRow*> microbatches;
    const EvaluationRow* whole = nullptr;
    RowPlace whole_place;
    for (std::size_t i = 0; i < rank.evaluation.size(); ++i) {
      const EvaluationRow& row = rank.evaluation[i];
      const RowPlace place{audited_.step(), rank.rank, "evaluation.csv", before + i, row.microbatch};
      ++rows[row.microbatch.value_or(-1)];
      if (row.microbatch) {
        microbatches.push_back(&row);
        same_data(place, row, first);
      } else {
        whole = &row;
        whole_place = place;
      }
    }
    for (std::int64_t microbatch = -1; microbatch < audited_.manifest().evaluation->microbatches; ++microbatch) {
      if (rows[microbatch] == 1) continue;
      const std::string what = microbatch < 0 ? "the whole evaluation" : "microbatch " + to_text(microbatch);
      return report({audited_.step(), rank.rank, "evaluation.csv", before}, part::evaluation, "rows of " + what, "1",
                    to_text(rows[microbatch]), "every evaluation has one of each");
    }
    audit_.count("numbers", 3);
    for (const auto& [column, expected, got] : judging::differences_from_sum(*whole, microbatches))
      report(whole_place, part::evaluation, column, expected, got, "it is not the sum over the microbatches");
  }

  void same_data(const RowPlace& place, const EvaluationRow& row, std::map<std::int64_t, EvaluationRow>& first) {
    const EvaluationRow& then = first.try_emplace(*row.microbatch, row).first->second;
    for (const auto& [column, expected, got] : judging::differences_of_data(then, row))
      report(place, part::evaluation, column, expected, got,
             "differs from the evaluation after step " + to_text(then.step));
  }

  void report(const RowPlace& row, const std::string& level, const std::string& item, const std::string& expected,
              const std::string& got, const std::string& why) {
    audit_.findings.push_back(at_row(row, level, item, expected, got, why));
  }

  const AuditedStep& audited_;
  Audit& audit_;
  bool cross_entropy_, finite_ = true;
};

}  // namespace

void PossibleNumbers::step(const AuditedStep& audited, Audit& audit) {
  if (!finite_) return;
  NumbersOfStep numbers(audited, audit);
  finite_ = numbers.look();
  if (finite_) numbers.evaluation(first_evaluation_);
}

}  // namespace plumbline::auditing
