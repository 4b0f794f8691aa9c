// SPDX-License-Identifier: BSD-3-Clause
#include "reports/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/text.hpp"

namespace plumbline {
namespace {

/// "nonzero_elements" -> "nonzero elements".
std::string spaced(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

/// "copies" to "copy", "losses" to "loss", "ranks" to "rank"; other words are unchanged.
std::string singular(const std::string& words) {
  const auto without = [&](std::size_t letters) { return words.substr(0, words.size() - letters); };
  if (words.ends_with("ies")) return without(3) + "y";
  if (words.ends_with("sses") || words.ends_with("ches") || words.ends_with("xes")) return without(2);
  return words.ends_with("s") ? without(1) : words;
}

/// "untied-128" and "untied128" are the same name.
std::string letters_and_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return c == '-' || c == '_' || c == '.'; });
  return text;
}

std::string size_title(const CellVerdict& cell) {
  return (cell.replicas > 1 ? "R x P = " : "P = ") + size_text(cell);
}

/// Empty parts are left out.
std::string label_of(const CellVerdict& cell, const std::string& size) {
  std::vector<std::string> parts = {cell.schedule, size};
  if (!cell.balance.empty()) parts.push_back(fmt::format("[{}]", join(cell.balance, ", ")));
  parts.push_back(cell.variant);
  std::erase(parts, "");
  return join(parts, ", ");
}

}  // namespace

std::string grouped(std::int64_t value) {
  const std::string digits = std::to_string(value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string seconds_text(double seconds) {
  if (!(seconds >= 60)) return seconds < 10 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string short_number(double value) {
  return fmt::format("{:.3g}", value);
}

std::string count_text(std::int64_t count, const std::string& one) {
  return fmt::format("{} {}", grouped(count), count == 1 ? one : plural(one));
}

std::string outcome_words(Outcome outcome) {
  return spaced(to_text(outcome));
}

std::string outcome_and_weight(const CheckResult& check) {
  const bool aside = check.outcome == Outcome::incomplete && !is_blocking(check);
  return outcome_words(check.outcome) + (check.accepted ? " (accepted)" : aside ? " (not required)" : "");
}

std::string case_state(const CellVerdict& cell) {
  if (cell.holds) return "holds";
  return cell.incomplete() ? "incomplete" : cell.unstable() ? "unstable" : "does not hold";
}

std::string tally_text(const std::vector<CheckResult>& checks) {
  const auto with = [&](Outcome outcome) { return std::ranges::count(checks, outcome, &CheckResult::outcome); };
  const auto holds = with(Outcome::holds);
  return fmt::format("{} of {} {}", grouped(holds),
                     count_text(std::ssize(checks) - with(Outcome::does_not_apply), "check"),
                     holds == 1 ? "holds" : "hold");
}

std::string outcome_sign(Outcome outcome) {
  switch (outcome) {
    case Outcome::holds:
      return "\u2713";  // check mark
    case Outcome::differs:
      return "\u2717";  // ballot x
    case Outcome::incomplete:
      return "?";
    case Outcome::does_not_apply:
      return "\u00B7";  // middle dot
  }
  return "?";
}

std::string counts_text(const Counts& counts) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts)
    parts.push_back(fmt::format("{}\u00A0{}", grouped(count), count == 1 ? singular(spaced(what)) : spaced(what)));
  return join(parts, ", ");
}

std::string training_title(const std::string& model, const std::string& optimizer) {
  return model + (model.empty() || optimizer.empty() ? "" : ", ") + optimizer;
}

std::string size_text(const CellVerdict& cell) {
  if (cell.replicas <= 1) return std::to_string(cell.world);
  return fmt::format("{} x {}", cell.replicas, cell.world / cell.replicas);
}

std::string cell_title(const CellVerdict& cell) {
  std::vector<std::string> parts = {cell.model, cell.optimizer, cell.schedule, size_title(cell)};
  if (!cell.balance.empty()) parts.push_back(fmt::format("balance [{}]", join(cell.balance, ", ")));
  parts.push_back(cell.variant);
  // Only one run of a sweep can have a name that repeats the title. Any other name stands for what may
  // be specific to the run: lengths, partition, dtype, another model of this name.
  const std::string run = letters_and_digits(cell.run), model = letters_and_digits(cell.model);
  const bool is_said = run.empty() || run == model || run == model + letters_and_digits(cell.optimizer);
  if (!is_said) parts.push_back("run " + cell.run);
  std::erase(parts, "");
  return join(parts, ", ");
}

std::string run_label(const CellVerdict& cell) {
  return label_of(cell, size_title(cell));
}

std::string schedule_label(const CellVerdict& cell) {
  return label_of(cell, "");
}

std::string percent_of(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace plumbline
