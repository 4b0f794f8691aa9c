// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/diff/value_difference.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/judge/expected/losses.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/facts/tensor_rules.hpp"
#include "harness/judge/hints/looks.hpp"
#include "harness/judge/limits/errors.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// The reason why two rows with one digest cannot both be correct; empty if they can. A writer may sum the squares in
/// any order: for n terms each addition and product rounds once, and so do root and division.
std::string why_not_of_one_tensor(const TensorRow& theirs, const TensorRow& mine) {
  const auto differ = [](const std::string& what, auto expected, auto got) {
    return fmt::format("the bits are the same, but {} is {} in the reference and {} in the candidate", what,
                       to_text(expected), to_text(got));
  };
  if (mine.nonzero != theirs.nonzero) return differ("nonzero", theirs.nonzero, mine.nonzero);
  if (mine.nonzero_rows && theirs.nonzero_rows && *mine.nonzero_rows != *theirs.nonzero_rows)
    return differ("nonzero_rows", *theirs.nonzero_rows, *mine.nonzero_rows);
  if (!same_bits(mine.max_abs, theirs.max_abs)) return differ("max_abs", theirs.max_abs, mine.max_abs);
  const double limit = static_cast<double>(element_count(mine.shape) + 2) * std::ldexp(std::abs(theirs.l2), -53);
  const bool close = std::isfinite(limit) && std::abs(mine.l2 - theirs.l2) <= limit;
  return mine.l2 == theirs.l2 || close ? "" : differ("l2", theirs.l2, mine.l2);
}

class Comparison {
 public:
  Comparison(const StepEvidence& now, const Expected& expected, const Fact& got, CheckResultBuilder& builder)
      : now_(now), expected_(expected), got_(got), builder_(builder) {}

  std::optional<FactDifference> operator()(const TensorRow* theirs, const TensorRow* mine) {
    const std::string overflow = not_finite_words(*theirs);
    if (!overflow.empty()) {
      if (got_.column == Column::gradient && now_.skipped() && mine->nan + mine->inf > 0) return {};
      return of_reference("finite numbers", overflow, "the reference's own tensor holds " + overflow);
    }
    const auto& model = now_.cell.model;
    const auto parameter = model.parameter_position(mine->name);
    const bool own_shape = got_.column == Column::moment1 || got_.column == Column::moment2
                               ? moments_vary(now_.cell.reference.manifest)
                               : got_.column == Column::buffer;
    if (parameter && !own_shape && theirs->shape != model.parameters[static_cast<std::size_t>(*parameter)].shape)
      return of_reference(shape_text(model.parameters[static_cast<std::size_t>(*parameter)].shape),
                          shape_text(theirs->shape), "the reference's own has another shape than the parameter");
    if (const std::string words = not_finite_words(*mine); !words.empty())
      return FactDifference{"finite numbers", words, "the candidate's tensor holds " + words};
    if (auto form = of_form(*theirs, *mine, "", "")) return form;
    if (mine->digest == theirs->digest) {
      const std::string why = why_not_of_one_tensor(*theirs, *mine);
      if (!why.empty()) return FactDifference{"the statistics of the same tensor", "different ones", why};
    }
    // If the start differs in bits, nothing later is comparable.
    const bool exactly = now_.step < 0 || got_.column == Column::buffer;
    auto difference = take((exactly ? in_bits() : *now_.cell.values).tensor(got_.place.rank, *theirs, *mine));
    if (!difference) return difference;
    difference->size = size_of_difference(*theirs, *mine);
    difference->look = look_at(now_, *theirs, *mine);
    return difference;
  }

  std::optional<FactDifference> operator()(const BoundaryRow* theirs, const BoundaryRow* mine) {
    const std::string end = mine->side == "receive" ? " as received" : mine->side == "send" ? " as sent" : "";
    if (auto form = of_form(*theirs, *mine, end, look_at_shape(now_, *theirs, *mine))) return form;
    ValueComparison& values = expected_.of_candidate ? in_bits() : *now_.cell.values;
    auto difference = take(values.boundary(got_.place.rank, *theirs, *mine));
    if (difference) difference->why += end + look_at(now_, *mine);
    return difference;
  }

  std::optional<FactDifference> operator()(const EvaluationRow* theirs, const EvaluationRow* mine) {
    const auto differ = [](const char* item, const auto& expected, const auto& got) {
      return FactDifference{.expected = to_text(expected), .got = to_text(got), .item = item};
    };
    if (theirs->tokens != mine->tokens) return differ("tokens", theirs->tokens, mine->tokens);
    if (theirs->valid_tokens != mine->valid_tokens)
      return differ("valid_tokens", theirs->valid_tokens, mine->valid_tokens);
    if (!theirs->data_digest.empty() && !mine->data_digest.empty() && theirs->data_digest != mine->data_digest)
      return FactDifference{.expected = theirs->data_digest, .got = mine->data_digest, .item = "data_digest"};
    auto difference =
        of_loss(theirs->loss, mine->loss, theirs->valid_tokens, {now_.step, evaluation_item(theirs->microbatch)});
    if (difference) difference->item = "loss";
    return difference;
  }

  std::optional<FactDifference> operator()(float theirs, float mine) {
    const bool of_step = got_.column == Column::step_loss;
    std::optional<std::int64_t> valid;
    const auto number = of_step ? std::nullopt : std::optional(got_.microbatch);
    if (now_.cell.sizes_recorded()) {
      const StepRow* step = now_.reference_rows.steps().empty() ? nullptr : now_.reference_rows.steps().front().row;
      const MicrobatchRow* row = number ? now_.reference_rows.microbatch(*number) : nullptr;
      if (of_step && step) valid = step->valid_tokens;
      if (row) valid = row->valid_tokens;
    }
    return of_loss(theirs, mine, valid, {now_.step, loss_item(number)});
  }

  std::optional<FactDifference> operator()(double theirs, double mine) {
    if (std::isfinite(mine) && same_bits(theirs, mine)) return {};
    return FactDifference{.expected = to_text(theirs), .got = to_text(mine), .size = relative_size(mine, theirs)};
  }

  std::optional<FactDifference> operator()(bool theirs, bool mine) {
    if (theirs == mine) return {};
    return FactDifference{theirs ? "a step of the optimizer" : "no step of the optimizer", mine ? "one" : "none"};
  }

  std::optional<FactDifference> operator()(std::string_view theirs, std::string_view mine) {
    if (theirs == mine) return {};
    return FactDifference{std::string(theirs), std::string(mine)};
  }

  std::optional<FactDifference> operator()(const Sizes& theirs, const Sizes& mine) {
    if (theirs == mine) return {};
    return FactDifference{text_of(theirs), text_of(mine)};
  }

  template <class Theirs, class Mine>
  std::optional<FactDifference> operator()(const Theirs&, const Mine&) {
    return FactDifference{"a value of the same type", "another", "the records contradict each other"};
  }

 private:
  template <class Row>
  std::optional<FactDifference> of_form(const Row& theirs, const Row& mine, const std::string& end,
                                        const std::string& hint) const {
    if (mine.dtype != theirs.dtype)
      return FactDifference{theirs.dtype, mine.dtype, fmt::format("the dtype{} differs", end)};
    if (mine.shape != theirs.shape)
      return FactDifference{shape_text(theirs.shape), shape_text(mine.shape),
                            fmt::format("the shape{} differs{}", end, hint)};
    return {};
  }

  static FactDifference of_reference(const std::string& expected, const std::string& got, const std::string& why) {
    return {.expected = expected, .got = got, .why = why, .of_reference = true};
  }

  std::optional<FactDifference> of_loss(float theirs, float mine, std::optional<std::int64_t> valid, const Item& item) {
    if (!std::isfinite(theirs)) return of_reference("a finite loss", to_text(theirs), "the reference itself");
    if (!std::isfinite(mine)) return FactDifference{to_text(theirs), to_text(mine), "not finite"};
    const auto impossible = now_.cell.model.has_sizes() && valid ? why_no_loss(theirs, *valid) : std::nullopt;
    if (impossible) return of_reference(*impossible, to_text(theirs), "the reference itself");
    auto difference = take(now_.cell.values->loss(item, theirs, mine));
    if (difference) difference->size = relative_size(mine, theirs);
    return difference;
  }

  std::optional<FactDifference> take(const ComparedValue& value) {
    const auto wrong = builder_.take(value);
    if (!wrong) return {};
    return FactDifference{wrong->expected, wrong->got, wrong->why};
  }

  const StepEvidence& now_;
  const Expected& expected_;
  const Fact& got_;
  CheckResultBuilder& builder_;
};

}  // namespace

std::optional<FactDifference> value_difference(const StepEvidence& now, const Expected& expected, const Fact& got,
                                               CheckResultBuilder& builder) {
  return std::visit(Comparison(now, expected, got, builder), expected.value, got.value);
}

std::string not_finite_words(const TensorRow& row) {
  if (row.nan + row.inf == 0) return "";
  return fmt::format("{} NaN and {} infinite of {} elements", row.nan, row.inf, element_count(row.shape));
}

}  // namespace plumbline::judging
