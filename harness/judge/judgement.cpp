#include "harness/judge/judgement.hpp"

#include <algorithm>
#include <cmath>

#include "support/text.hpp"

namespace plumbline::judging {
namespace {

constexpr std::size_t items_named = 8;

}  // namespace

Judgement::Judgement(std::string name, std::string rung, std::string limit) : rung_(std::move(rung)) {
  result_.name = std::move(name);
  result_.limit = std::move(limit);
}

void Judgement::diverge(const Moment& moment, FirstDivergence divergence) {
  ++divergences_;
  auto& items = items_[{moment.group, moment.step}];
  if (std::find(items.begin(), items.end(), divergence.item) == items.end()) items.push_back(divergence.item);
  if (moment_ && !(moment < *moment_)) return;
  if (divergence.rung.empty()) divergence.rung = rung_;
  moment_ = moment;
  result_.first_divergence = std::move(divergence);
}

void Judgement::note(const Measured& value) {
  ++measured_;
  if (!(value.margin() <= warned_margin)) ++warned_;
  const bool larger = !nearest_ || (!std::isnan(nearest_->margin()) && !(value.margin() <= nearest_->margin()));
  if (!larger) return;
  nearest_ = value;
  result_.measured = short_text(value.error) + " at " + value.item;
  result_.margin = value.margin();
}

std::string Judgement::margin_words() const {
  if (!nearest_) return "";
  std::string words = "; nearest to its limit of " + std::to_string(measured_) + ": " + nearest_->words();
  if (warned_ > 0) {
    words += "; WARNING: " + std::to_string(warned_) + " have a margin above " + short_text(warned_margin) +
             ", which harmless changes do not reach";
  }
  return words;
}

void Judgement::diverge(const Moment& moment, std::int64_t step, std::optional<std::int64_t> rank,
                        const std::string& item, const std::string& expected, const std::string& got,
                        const std::string& words) {
  FirstDivergence divergence;
  divergence.step = step;
  divergence.rank = rank;
  divergence.item = item;
  divergence.expected = expected;
  divergence.got = got;
  divergence.words = words;
  diverge(moment, std::move(divergence));
}

std::int64_t Judgement::count(const std::string& what) const {
  const auto of = [&](const Counts& counts) {
    const auto found = counts.find(what);
    return found == counts.end() ? 0 : found->second;
  };
  return of(result_.compared) + of(result_.looked_at);
}

std::string Judgement::failure_words() const {
  std::string words = result_.first_divergence->words;
  const auto& items = items_.at({moment_->group, moment_->step});
  if (divergences_ > 1) {
    std::vector<std::string> named(items.begin(),
                                   items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), items_named)));
    words += " (" + std::to_string(divergences_) + " differences in all; in that step: " + join(named, ", ") +
             (items.size() > items_named ? " and " + std::to_string(items.size() - items_named) + " more" : "") + ")";
  }
  return words;
}

Judged Judgement::conclude(const std::string& shown, const Counts& floors, const std::vector<std::string>& telling) {
  for (const auto& [what, least] : floors) {
    if (count(what) >= least) continue;
    FirstDivergence nothing;
    nothing.item = what;
    nothing.expected = "at least " + std::to_string(least);
    nothing.got = std::to_string(count(what));
    nothing.words = "looked at " + nothing.got + " " + what + ", not at " + nothing.expected +
                    ": a check that compared nothing shows nothing";
    diverge({3, 0, 0, 0, 0, 0, 0}, std::move(nothing));
  }
  for (const auto& what : telling) {
    if (count(what) > 0) continue;
    return conclude_as(Outcome::not_triggered, "nothing that was compared could have told a fault: 0 " + what);
  }
  return conclude_as(Outcome::holds, shown);
}

Judged Judgement::conclude_as(Outcome outcome, const std::string& reason) {
  if (diverged()) {
    result_.outcome = Outcome::fails;
    result_.reason = failure_words();
    if (result_.measured.empty()) result_.measured = std::to_string(divergences_) + " differences";
  } else {
    result_.outcome = outcome;
    result_.reason = reason;
    if (result_.measured.empty() && outcome == Outcome::holds) result_.measured = "no difference";
  }
  result_.reason += margin_words();
  if (!left_out_.empty()) result_.reason += "; not looked at: " + join(left_out_, ", ");
  return {std::move(result_), moment_};
}

Judged without_looking(const std::string& name, Outcome outcome, const std::string& reason) {
  Judged judged;
  judged.result.name = name;
  judged.result.outcome = outcome;
  judged.result.reason = reason;
  return judged;
}

}  // namespace plumbline::judging
