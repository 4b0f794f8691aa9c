// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/diff/described.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/judge/facts/fact.hpp"
#include "harness/judge/facts/positions.hpp"
#include "harness/judge/facts/tensor_rules.hpp"
#include "harness/judge/hints/advice.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
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
