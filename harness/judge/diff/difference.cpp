// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/judge/diff/diff.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/expected.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/hints/hints.hpp"
#include "harness/judge/limits/limits.hpp"
#include "harness/judge/predicates/forms.hpp"
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
      return of_reference("finite numbers", overflow, "the reference's tensor has " + overflow);
    }
    const auto& model = now_.cell.model;
    const auto parameter = model.parameter_position(mine->name);
    const bool own_shape = got_.column == Column::moment1 || got_.column == Column::moment2
                               ? moments_vary(now_.cell.reference.manifest)
                               : got_.column == Column::buffer;
    if (parameter && !own_shape && theirs->shape != model.parameters[static_cast<std::size_t>(*parameter)].shape)
      return of_reference(shape_text(model.parameters[static_cast<std::size_t>(*parameter)].shape),
                          shape_text(theirs->shape), "the reference's tensor does not have the parameter's shape");
    if (const std::string words = not_finite_words(*mine); !words.empty())
      return FactDifference{"finite numbers", words, "the candidate's tensor has " + words};
    if (auto form = of_form(*theirs, *mine, "", "")) return form;
    if (mine->digest == theirs->digest) {
      const std::string why = why_not_of_one_tensor(*theirs, *mine);
      if (!why.empty()) return FactDifference{"equal statistics", "different ones", why};
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

namespace {

enum class Family : std::int8_t { data, boundary, loss, tensor, update, evaluation };

Family family_of(Column column) {
  switch (column) {
    case Column::ids:
    case Column::sizes:
      return Family::data;
    case Column::forward:
    case Column::backward:
      return Family::boundary;
    case Column::loss:
    case Column::step_loss:
      return Family::loss;
    case Column::norm:
    case Column::coefficient:
    case Column::updated:
    case Column::rate:
    case Column::rate_of_parameter:
      return Family::update;
    case Column::evaluation:
      return Family::evaluation;
    default:
      return Family::tensor;
  }
}

std::optional<std::int64_t> known(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

std::string stages_of(const Place& place) {
  const auto text = [](std::int64_t stage) { return stage < 0 ? std::string("?") : std::to_string(stage); };
  if (place.stage < 0 && place.to_stage < 0) return "";
  return fmt::format(", stage {} -> {}", text(place.stage), text(place.to_stage));
}

/// `item`: the part that differs, if only a part does.
Finding place_of(const StepEvidence& now, const Fact& fact, const std::string& item = "") {
  const std::string name(fact.name), column(rules_of(fact.column).name);
  Finding finding{.step = now.step,
                  .microbatch = known(fact.microbatch),
                  .stage = known(fact.place.stage),
                  .rank = known(fact.place.rank)};
  switch (family_of(fact.column)) {
    case Family::data:
      finding.item = "data";
      break;
    case Family::boundary:
      if (fact.place.side == "receive") finding.stage = known(fact.place.to_stage);
      finding.direction = column;
      finding.item = name;
      finding.what = fmt::format("{} boundary {}{}", column, name, stages_of(fact.place));
      break;
    case Family::loss:
      finding.stage = now.cell.stage_of_loss();
      finding.item = fact.column == Column::loss ? "loss of the microbatch" : "loss of the step";
      break;
    case Family::tensor:
      finding.item = name;
      finding.what = fmt::format("{} {}", column, name);
      break;
    case Family::update:
      finding.stage = std::nullopt;
      finding.item = fact.column == Column::rate || !name.empty() ? "learning_rate" : column;
      if (!name.empty()) finding.item += " of " + name;
      if (fact.column == Column::updated) finding.what = fmt::format("the update of step {}", now.step);
      break;
    case Family::evaluation:
      finding.stage = now.cell.stage_of_loss();
      finding.item = "evaluation.csv " + item;
      finding.what = item + " of the evaluation after the step";
      break;
  }
  return finding;
}

Described at(const StepEvidence& now, const Fact& fact, Finding finding) {
  return {point_of(now, fact), std::move(finding)};
}

/// Expected, got and why, if a record lacks a fact, or has several where there must be one.
struct Absence {
  std::string expected, got, why;
};

Absence absence(const StepEvidence& now, const Expected& fact, std::int64_t found, bool of_reference) {
  const std::string whose = of_reference ? "of the reference" : "of the candidate";
  const std::string record = of_reference ? "the reference" : "the candidate";
  switch (family_of(fact.column)) {
    case Family::data:
      return {"a digest", "none", "data digest " + whose + " differ"};
    case Family::boundary:
      if (of_reference)
        return {"the reference's tensor", "no row", "the reference did not record a tensor at this boundary"};
      if (fact.place.side == "computed")
        return {"a row", "none", "the candidate did not record a tensor at this boundary"};
      return {"a row", "none", fmt::format("no {} row with peer {}", fact.place.side, fact.place.peer)};
    case Family::loss:
      return {"one rank with the loss", std::to_string(found), whose};
    case Family::update:
      return {text_of(fact.value), "absent", ""};
    case Family::evaluation:
      return {"1", std::to_string(found), whose};
    case Family::tensor:
      break;
  }
  if (!of_reference && fact.place.rank < 0 && fact.column != Column::buffer) {
    const auto position = now.cell.model.parameter_position(std::string(fact.name)).value_or(0);
    const std::string& unit = now.cell.model.parameters[static_cast<std::size_t>(position)].unit;
    return {"a stage that holds " + unit, "none", "no stage holds " + unit};
  }
  if (fact.column == Column::buffer) return {"a row", "none", "no stage has it"};
  const std::string hint = fact.column == Column::parameter ? advice(now.cell.candidate.manifest, Advice::names) : "";
  return {"a row", "none", record + " lacks this row" + hint};
}

Described described_absence(const StepEvidence& now, const Expected& fact, std::int64_t found, bool of_reference) {
  Finding finding = place_of(now, fact, "rows");
  const Absence words = absence(now, fact, found, of_reference);
  finding.expected = words.expected;
  finding.got = words.got;
  finding.why = words.why;
  return at(now, fact, std::move(finding));
}

}  // namespace

Described described(const StepEvidence& now, const Fact& got, FactDifference difference) {
  Finding finding = place_of(now, got, difference.item);
  if (difference.of_reference && family_of(got.column) != Family::tensor) finding.rank = std::nullopt;
  finding.expected = std::move(difference.expected);
  finding.got = std::move(difference.got);
  finding.why = std::move(difference.why);
  finding.size = std::move(difference.size);
  if (got.column == Column::ids)
    finding.why = "ids or labels differ" + advice(now.cell.candidate.manifest, Advice::batch);
  if (got.column == Column::sizes) finding.why = "sizes differ" + advice(now.cell.candidate.manifest, Advice::batch);
  if (!difference.look.empty()) finding.words = words_of(finding) + difference.look;
  return at(now, got, std::move(finding));
}

Described described_missing(const StepEvidence& now, const Expected& expected, std::int64_t found) {
  return described_absence(now, expected, found, false);
}

Described described_lack(const StepEvidence& now, const Expected& expected, const Fact* got) {
  Described lack = described_absence(now, expected, std::ssize(with_key(now.facts.reference, expected)), true);
  if (got && family_of(got->column) == Family::update) {
    lack.finding.got = text_of(got->value);
    lack.finding.rank = known(got->place.rank);
  }
  return lack;
}

Described described_extra(const StepEvidence& now, const Fact& fact, const std::string& whose) {
  Finding finding = place_of(now, fact, "rows");
  finding.source = whose;
  finding.expected = "no row";
  finding.got = "a row";
  switch (family_of(fact.column)) {
    case Family::boundary:
      finding.why = fmt::format("a {} that the partition does not imply, or a duplicate", fact.place.side);
      break;
    case Family::tensor:
      finding.why = why_no_such_tensor(now, fact, !whose.empty());
      if (fact.column == Column::buffer) finding.expected = "no such buffer";
      break;
    default:
      finding.why = "the run does not imply it";
  }
  return at(now, fact, std::move(finding));
}

}  // namespace plumbline::judging
