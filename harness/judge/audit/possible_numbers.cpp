// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/expected/expected_model.hpp"
#include "harness/judge/expected/losses.hpp"
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
    for (const auto& place : audited_.microbatches())
      if (place.row->loss) loss(place, part::loss, *place.row->loss);
    for (const auto& place : audited_.steps()) {
      if (place.row->loss) loss(place, part::loss, *place.row->loss);
      if (place.row->gradient_norm && place.row->updated != false)
        finite(place, part::norm, "gradient_norm", *place.row->gradient_norm);
    }
    for (const auto& place : audited_.evaluation()) loss(place, part::evaluation, place.row->loss);
    for (const TensorPlace& place : audited_.tensors()) tensor(place);
    return finite_;
  }

  void evaluation(std::map<std::int64_t, EvaluationRow>& first) {
    if (audited_.step() < 0 || !audited_.manifest().evaluates_after(audited_.step())) return;
    std::map<std::int64_t, std::vector<Place>> by_rank;
    for (const auto& place : audited_.evaluation()) by_rank[place.rank].push_back(place);
    for (const auto& [rank, places] : by_rank) evaluation(places, first);
    if (!by_rank.empty()) return;
    audit_.findings.push_back({.level = part::evaluation,
                               .step = audited_.step(),
                               .source = "evaluation.csv",
                               .item = "rows",
                               .expected = "an evaluation",
                               .got = "none",
                               .why = "manifest.json has an evaluation after this step"});
  }

 private:
  using Place = Placed<EvaluationRow>;

  template <class Row>
  bool finite(const Placed<Row>& place, const std::string& level, const std::string& item, double value) {
    if (std::isfinite(value)) return true;
    report(place, level, item, "a finite number", to_text(value), "not finite");
    return finite_ = false;
  }

  template <class Row>
  void loss(const Placed<Row>& place, const std::string& level, float loss) {
    if (!finite(place, level, "loss", static_cast<double>(loss)) || !cross_entropy_) return;
    const auto impossible = judging::why_no_loss(loss, place.row->valid_tokens);
    if (impossible) report(place, level, "loss", *impossible, to_text(loss), "no sum of cross-entropies is this");
  }

  void tensor(const TensorPlace& place) {
    const TensorRow& row = *place.row;
    if (row.nan + row.inf == 0) return;
    audit_.findings.push_back(at_tensor(place, fmt::format("{} {}", row.kind, row.name), "finite values",
                                        fmt::format("{} NaN and {} infinite", row.nan, row.inf), "not finite"));
    finite_ = false;
  }

  /// `places`: a rank's rows.
  void evaluation(const std::vector<Place>& places, std::map<std::int64_t, EvaluationRow>& first) {
    std::map<std::int64_t, std::int64_t> rows;  ///< by microbatch; -1: the sum
    std::vector<const EvaluationRow*> microbatches;
    const Place* whole = nullptr;
    for (const Place& place : places) {
      ++rows[place.row->microbatch.value_or(-1)];
      if (place.row->microbatch) {
        microbatches.push_back(place.row);
        same_data(place, first);
      } else {
        whole = &place;
      }
    }
    for (std::int64_t microbatch = -1; microbatch < audited_.manifest().evaluation->microbatches; ++microbatch) {
      if (rows[microbatch] == 1) continue;
      const std::string what = microbatch < 0 ? "the whole evaluation" : "microbatch " + to_text(microbatch);
      report(places.front(), part::evaluation, "rows of " + what, "1", to_text(rows[microbatch]),
             "every evaluation has one of each");
      audit_.findings.back().microbatch.reset();
      return;
    }
    audit_.count("numbers", 3);
    for (const auto& [column, expected, got] : judging::differences_from_sum(*whole->row, microbatches))
      report(*whole, part::evaluation, column, expected, got, "it is not the sum over the microbatches");
  }

  void same_data(const Place& place, std::map<std::int64_t, EvaluationRow>& first) {
    const EvaluationRow& row = *place.row;
    const EvaluationRow& then = first.try_emplace(*row.microbatch, row).first->second;
    for (const auto& [column, expected, got] : judging::differences_of_data(then, row))
      report(place, part::evaluation, column, expected, got,
             "differs from the evaluation after step " + to_text(then.step));
  }

  template <class Row>
  void report(const Placed<Row>& place, const std::string& level, const std::string& item, const std::string& expected,
              const std::string& got, const std::string& why) {
    audit_.findings.push_back(at_row(place, level, item, expected, got, why));
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
