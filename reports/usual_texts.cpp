// SPDX-License-Identifier: BSD-3-Clause
#include "reports/usual_texts.hpp"

#include <algorithm>

#include "support/text.hpp"

namespace plumbline {
namespace {

struct TextCounts {
  std::map<std::string, std::int64_t> limits, reasons, asides, not_shown;
};

std::string most_frequent(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  std::int64_t most = 1;
  for (const auto& [each, count] : counts) {
    if (count > most) {
      most = count;
      text = each;
    }
  }
  return text;
}

std::string for_any_cell(const CellVerdict& cell) {
  std::string command = cell.command;
  const std::string placeholder = "CELL";
  for (auto at = command.find(cell.id); at != std::string::npos && !cell.id.empty();
       at = command.find(cell.id, at + placeholder.size()))
    command.replace(at, cell.id.size(), placeholder);
  return command;
}

const UsualTexts::Of* find_check(const UsualTexts& usual, const std::string& name) {
  const auto found = std::ranges::find(usual.checks, name, &UsualTexts::Of::check);
  return found == usual.checks.end() ? nullptr : &*found;
}

}  // namespace

std::string UsualTexts::unusual_limit(const CheckResult& check) const {
  const Of* of = find_check(*this, check.name);
  return of != nullptr && of->limit == check.limit ? "" : check.limit;
}

std::string UsualTexts::unusual_reason(const CheckResult& check) const {
  const Of* of = find_check(*this, check.name);
  if (of == nullptr) return check.reason;
  const bool usual = (check.outcome == Outcome::holds && of->reason == check.reason) ||
                     (check.outcome == Outcome::does_not_apply && of->aside == check.reason);
  return usual ? "" : check.reason;
}

std::vector<std::string> UsualTexts::unusual_not_shown(const CheckResult& check) const {
  const Of* of = find_check(*this, check.name);
  if (of != nullptr && of->not_shown == join(check.not_shown, "; ")) return {};
  return check.not_shown;
}

std::string UsualTexts::unusual_command(const CellVerdict& cell) const {
  return for_any_cell(cell) == command ? "" : cell.command;
}

UsualTexts usual_texts(const Verdict& verdict) {
  UsualTexts usual;
  std::map<std::string, TextCounts> counts;
  std::map<std::string, std::int64_t> commands;
  for (const CellVerdict& cell : verdict.cells) {
    ++commands[for_any_cell(cell)];
    for (const CheckResult& check : cell.checks) {
      if (find_check(usual, check.name) == nullptr) usual.checks.push_back({check.name, "", "", "", ""});
      TextCounts& of = counts[check.name];
      ++of.limits[check.limit];
      ++of.not_shown[join(check.not_shown, "; ")];
      if (check.outcome == Outcome::holds) ++of.reasons[check.reason];
      if (check.outcome == Outcome::does_not_apply) ++of.asides[check.reason];
    }
  }
  for (UsualTexts::Of& of : usual.checks) {
    of.limit = most_frequent(counts[of.check].limits);
    of.reason = most_frequent(counts[of.check].reasons);
    of.aside = most_frequent(counts[of.check].asides);
    of.not_shown = most_frequent(counts[of.check].not_shown);
  }
  usual.command = most_frequent(commands);
  return usual;
}

}  // namespace plumbline
