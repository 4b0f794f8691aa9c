// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/check_result_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/limits/limits.hpp"
#include "support/text.hpp"

namespace plumbline::judging {

CheckResultBuilder::CheckResultBuilder(std::string name, std::string level, std::string limit)
    : level_(std::move(level)) {
  result_.name = std::move(name);
  result_.limit = std::move(limit);
}

/// Only items of the earliest group and step are reported; no others are kept.
void CheckResultBuilder::note_item(const ExecutionPoint& point, const std::string& item) {
  const auto key = [](const ExecutionPoint& of) { return std::pair(of.group, of.step); };
  if (point_ && key(*point_) < key(point)) return;
  if (point_ && key(point) < key(*point_)) items_.clear();
  const auto found = std::ranges::find(items_, item, &std::pair<ExecutionPoint, std::string>::second);
  if (found == items_.end())
    items_.emplace_back(point, item);
  else
    found->first = std::min(found->first, point);
}

void CheckResultBuilder::diverge(const ExecutionPoint& point, Finding finding) {
  ++divergences_;
  note_item(point, finding.item);
  if (point_ && !(point < *point_)) return;
  finding.claim = result_.name;
  if (finding.level.empty()) finding.level = level_;
  if (finding.words.empty()) finding.words = words_of(finding);
  point_ = point;
  result_.first_divergence = std::move(finding);
}

void CheckResultBuilder::absorb(CheckResultBuilder part) {
  for (const auto& [what, number] : part.result_.compared) compare(what, number);
  for (const auto& [what, number] : part.result_.inspected) inspect(what, number);
  for (const auto& [what, number] : part.result_.evidence) evidence(what, number);
  for (auto& words : part.result_.not_shown) not_shown(words);
  for (auto& words : part.left_out_) leave_out(words);
  auto& peaks = part.result_.predicted_peak_bytes;
  if (!peaks.empty()) predicted_peaks(std::move(peaks));
  divergences_ += part.divergences_;
  if (!part.point_) return;
  for (const auto& [point, item] : part.items_) note_item(point, item);
  if (point_ && !(*part.point_ < *point_)) return;
  point_ = part.point_;
  result_.first_divergence = std::move(part.result_.first_divergence);
}

std::optional<ValueDifference> CheckResultBuilder::take(const ComparedValue& value) {
  if (value.measured) note(*value.measured);
  return value.difference;
}

void CheckResultBuilder::note(const Measured& value) {
  ++measured_;
  if (!(value.margin() <= warned_margin)) ++warned_;
  const bool larger = !nearest_ || (!std::isnan(nearest_->margin()) && !(value.margin() <= nearest_->margin()));
  if (!larger) return;
  nearest_ = value;
  result_.measured = fmt::format("{} at {}", short_text(value.error), value.item);
  result_.margin = value.margin();
}

std::string CheckResultBuilder::margin_words() const {
  if (!nearest_) return "";
  std::string words = fmt::format("; nearest to its limit of {}: {}", measured_, nearest_->words());
  if (warned_ > 0) {
    words += fmt::format("; WARNING: {} have a margin above {}, which equivalent changes do not reach", warned_,
                         short_text(warned_margin));
  }
  return words;
}

std::int64_t CheckResultBuilder::count(const std::string& what) const {
  const auto of = [&](const Counts& counts) {
    const auto found = counts.find(what);
    return found == counts.end() ? 0 : found->second;
  };
  return of(result_.compared) + of(result_.inspected);
}

std::string CheckResultBuilder::failure_words() const {
  constexpr std::size_t items_named = 8;
  std::string words = result_.first_divergence->words;
  if (divergences_ > 1) {
    auto items = items_;
    std::ranges::stable_sort(items, {}, &std::pair<ExecutionPoint, std::string>::first);
    std::vector<std::string> named;
    for (const auto& [point, item] : items) {
      if (named.size() < items_named) named.push_back(item);
    }
    words += fmt::format(" ({} differences in all; in that step: {}{})", divergences_, join(named, ", "),
                         items_.size() > items_named ? fmt::format(" and {} more", items_.size() - items_named) : "");
  }
  return words;
}

LocatedResult CheckResultBuilder::conclude(const std::string& shown, const Counts& floors,
                                           const std::vector<std::string>& revealing) {
  if (!not_recorded_.empty()) return conclude_as(Outcome::holds, "");
  for (const auto& [what, least] : floors) {
    if (count(what) >= least) continue;
    diverge(at_the_end(), {.item = what,
                           .expected = "at least " + std::to_string(least),
                           .got = std::to_string(count(what)),
                           .words = fmt::format(
                               "inspected {} {}, but needs at least {}: a check that compares too little shows nothing",
                               count(what), what, least)});
  }
  for (const auto& what : revealing) {
    if (count(what) > 0) continue;
    return conclude_as(Outcome::incomplete, "nothing was compared that could have revealed a fault: 0 " + what);
  }
  return conclude_as(Outcome::holds, shown);
}

LocatedResult CheckResultBuilder::conclude_as(Outcome outcome, const std::string& reason) {
  if (diverged()) {
    result_.outcome = Outcome::differs;
    result_.reason = failure_words();
    if (result_.measured.empty()) result_.measured = quantity(divergences_, "difference");
  } else if (!not_recorded_.empty()) {
    result_.outcome = Outcome::incomplete;
    result_.reason = not_recorded_;
    if (outcome == Outcome::incomplete) result_.reason += "; " + reason;
    if (outcome != Outcome::incomplete && !result_.compared.empty()) result_.reason += "; the recorded values agree";
  } else {
    result_.outcome = outcome;
    result_.reason = reason;
    if (result_.measured.empty() && outcome == Outcome::holds) result_.measured = "no difference";
  }
  result_.reason += margin_words();
  if (!left_out_.empty()) result_.reason += "; not inspected: " + join(left_out_, ", ");
  return {std::move(result_), point_};
}

LocatedResult without_looking(const std::string& name, Outcome outcome, const std::string& reason) {
  LocatedResult judged;
  judged.result.name = name;
  judged.result.outcome = outcome;
  judged.result.reason = reason;
  return judged;
}

}  // namespace plumbline::judging
