// SPDX-License-Identifier: BSD-3-Clause
#include "reports/words.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "support/text.hpp"

namespace plumbline {
namespace {

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
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
  if (!(seconds >= 60)) return formatted(seconds < 10 ? "%.2f s" : "%.1f s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t rest = whole % 60;
  return std::to_string(whole / 60).append(rest < 10 ? " min 0" : " min ").append(std::to_string(rest)).append(" s");
}

std::string short_number(double value) {
  return formatted("%.3g", value);
}

std::string spaced(std::string text) {
  for (char& c : text) {
    if (c == '_') c = ' ';
  }
  return text;
}

std::string plural(const std::string& singular) {
  const auto ends = [&](const char* with) { return singular.ends_with(with); };
  if (ends("y") && !ends("ay") && !ends("ey") && !ends("oy")) return singular.substr(0, singular.size() - 1) + "ies";
  return singular + (ends("s") || ends("x") || ends("ch") ? "es" : "s");
}

std::string count_text(std::int64_t count, const std::string& singular) {
  return grouped(count) + " " + (count == 1 ? singular : plural(singular));
}

std::string hold_words(std::int64_t count) {
  return count == 1 ? "holds" : "hold";
}

std::string outcome_words(Outcome outcome) {
  return spaced(to_text(outcome));
}

std::string outcome_sign(Outcome outcome) {
  switch (outcome) {
    case Outcome::holds:
      return "\u2713";  // check mark
    case Outcome::fails:
      return "\u2717";  // ballot x
    case Outcome::not_run:
      return "?";
    case Outcome::not_applicable:
      return "\u00B7";  // middle dot
    case Outcome::not_triggered:
      return "0";
  }
  return "?";
}

/// "copies" to "copy", "losses" to "loss", "ranks" to "rank"; other words are unchanged.
static std::string singular(const std::string& words) {
  const auto without = [&](std::size_t letters) { return words.substr(0, words.size() - letters); };
  if (words.ends_with("ies")) return without(3) + "y";
  if (words.ends_with("sses") || words.ends_with("ches") || words.ends_with("xes")) return without(2);
  return words.ends_with("s") ? without(1) : words;
}

std::string counts_text(const Counts& counts) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts)
    parts.push_back(grouped(count) + "\u00A0" + (count == 1 ? singular(spaced(what)) : spaced(what)));
  return join(parts, ", ");
}

std::string balance_text(const std::vector<std::int64_t>& balance) {
  if (balance.empty()) return {};
  std::string text;
  for (const auto layers : balance) text.append(text.empty() ? "[" : ", ").append(std::to_string(layers));
  return text.append("]");
}

std::string training_title(const std::string& model, const std::string& optimizer) {
  return model + (model.empty() || optimizer.empty() ? "" : ", ") + optimizer;
}

/// "untied-128" and "untied128" are the same name.
static std::string letters_and_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return c == '-' || c == '_' || c == '.'; });
  return text;
}

std::string size_text(const CellVerdict& cell) {
  if (cell.replicas <= 1) return std::to_string(cell.world);
  return std::to_string(cell.replicas) + " x " + std::to_string(cell.world / cell.replicas);
}

static std::string size_title(const CellVerdict& cell) {
  return (cell.replicas > 1 ? "R x P = " : "P = ") + size_text(cell);
}

std::string cell_title(const CellVerdict& cell) {
  std::vector<std::string> parts = {cell.model, cell.optimizer, cell.schedule, size_title(cell)};
  if (!cell.balance.empty()) parts.push_back("balance " + balance_text(cell.balance));
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
  std::string label = (cell.schedule.empty() ? "" : cell.schedule + ", ") + size_title(cell);
  if (!cell.balance.empty()) label += ", " + balance_text(cell.balance);
  if (!cell.variant.empty()) label += ", " + cell.variant;
  return label;
}

std::string percent_of(double share) {
  return formatted("%.1f %%", 100 * share);
}

}  // namespace plumbline
