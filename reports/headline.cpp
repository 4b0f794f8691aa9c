// SPDX-License-Identifier: BSD-3-Clause
#include "reports/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/words.hpp"
#include "support/shell.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// The checks that compare values with the reference's. "The same bits" means all of them together.
constexpr std::array comparisons = {"loss", "boundaries", "gradients", "gradient_norm", "parameters"};

bool holds_everywhere(const Verdict& verdict, const std::string& name) {
  return !verdict.cells.empty() && std::ranges::all_of(verdict.cells, [&](const CellVerdict& cell) {
    return std::ranges::any_of(
        cell.checks, [&](const CheckResult& check) { return check.name == name && check.outcome == Outcome::holds; });
  });
}

/// In the order of the table: the checks that hold in every case, and the comparisons that do not.
std::vector<std::string> holding_checks(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const auto& check : verdict.cells.front().checks) {
    if (holds_everywhere(verdict, check.name)) names.push_back(check.name);
  }
  return names;
}

/// An external trainer that does not clip needs no norm; its values are compared without it.
bool needs_no_norm(const CellVerdict& cell) {
  return std::ranges::any_of(cell.checks, [](const CheckResult& check) {
    return check.name == "gradient_norm" && check.outcome == Outcome::does_not_apply;
  });
}

std::vector<std::string> comparisons_not_shown(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const std::string name : comparisons) {
    const bool not_needed = name == "gradient_norm" && std::ranges::all_of(verdict.cells, needs_no_norm);
    if (!not_needed && !holds_everywhere(verdict, name)) names.push_back(name);
  }
  return names;
}

std::string claim_of_holding(const Verdict& verdict) {
  const std::string cells = count_text(std::ssize(verdict.cells), "case");
  const std::string of_all = verdict.selection.cells < verdict.selection.of_cells
                                 ? fmt::format(" These are {} of the sweep's {} cases; the others were not requested.",
                                               grouped(verdict.selection.cells), grouped(verdict.selection.of_cells))
                                 : "";
  const auto not_shown = comparisons_not_shown(verdict);
  if (not_shown.empty()) {
    return fmt::format(
        "{}: {}.{}",
        verdict.comparison_mode == ComparisonMode::calibrated
            ? "Every pipeline run stayed within the calibrated limits around the single device; bits were not compared"
        : accepted_words(verdict).empty()
            ? "Every pipeline run computed the same bits as the single device, in everything that was required"
            : "Every pipeline run computed the same bits as the single device, as far as they were compared",
        cells, of_all);
  }
  const auto holding = holding_checks(verdict);
  return fmt::format(
      "In {} {} {}.{} It is not shown that the runs computed the same: {} {} not requested or could not be run.", cells,
      holding.empty() ? "no check" : join(holding, ", "), holding.size() <= 1 ? "holds" : "hold", of_all,
      join(not_shown, ", "), not_shown.size() == 1 ? "was" : "were");
}

std::int64_t failing_references(const Verdict& verdict) {
  return std::ranges::count_if(verdict.references,
                               [](const ReferenceVerdict& reference) { return !none_blocks(reference.checks); });
}

}  // namespace

std::string not_recorded_words(const Verdict& verdict) {
  std::map<std::string, std::vector<std::string>> kinds;  // by torch, if its version is the reason
  for (const auto& cell : verdict.cells) {
    for (const auto& unrecorded : cell.not_recorded) {
      auto& of_torch =
          kinds[unrecorded.why.find("torch " + unrecorded.torch) == std::string::npos ? "" : unrecorded.torch];
      if (std::ranges::find(of_torch, unrecorded.what) == of_torch.end()) of_torch.push_back(unrecorded.what);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [torch, what] : kinds) {
    const bool one = what.size() == 1 && !what.front().ends_with('s');
    parts.push_back(fmt::format("{} {} not recorded{}", join(what, ", "), one ? "was" : "were",
                                torch.empty() ? "" : fmt::format(" (torch {})", torch)));
  }
  return join(parts, ", ");
}

bool is_incomplete(const Verdict& verdict) {
  return !verdict.holds && verdict.not_run.empty() && !verdict.cells.empty() &&
         std::ranges::all_of(verdict.cells, [](const CellVerdict& cell) { return cell.holds || cell.incomplete(); }) &&
         std::ranges::any_of(verdict.cells, &CellVerdict::incomplete);
}

std::string accepted_words(const Verdict& verdict) {
  std::vector<std::string> claims;
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) {
      const bool known = std::ranges::find(claims, check.name) != claims.end();
      if (check.accepted && !known) claims.push_back(check.name);
    }
  }
  return claims.empty() ? "" : fmt::format("not compared in full, as accepted: {}", join(claims, ", "));
}

std::string verdict_word(const Verdict& verdict) {
  if (!verdict.holds) return is_incomplete(verdict) ? "Incomplete" : "Does not hold";
  std::string word = verdict.selection.partial() ? "Holds in part" : "Holds";
  const std::string accepted = accepted_words(verdict), missing = not_recorded_words(verdict);
  if (!accepted.empty()) word += ", " + accepted;
  return word + (missing.empty() ? "" : ", but " + missing);
}

std::string verdict_sign(const Verdict& verdict) {
  return outcome_sign(verdict.holds ? Outcome::holds : is_incomplete(verdict) ? Outcome::incomplete : Outcome::differs);
}

std::string headline(const Verdict& verdict) {
  std::int64_t holding = 0, unstable = 0, checks = 0, asked = 0;
  for (const auto& cell : verdict.cells) {
    if (cell.holds) ++holding;
    if (cell.unstable()) ++unstable;
    checks = std::max(checks, std::ssize(cell.checks));
    asked = std::max<std::int64_t>(
        asked, std::ranges::count_if(cell.checks, [&](const auto& check) { return asked_for(verdict, check); }));
  }
  const Selection& selection = verdict.selection;
  const auto all = std::max(selection.of_cells, std::ssize(verdict.cells));
  const auto cells = !verdict.holds && selection.cells < all ? selection.cells : all;
  std::string text = fmt::format("{}: {} of {}", verdict_word(verdict), grouped(holding), count_text(cells, "case"));
  if (!verdict.holds) text += holding == 1 || cells == 1 ? " holds" : " hold";  // failing cases are not counted here
  if (cells < all) text += fmt::format(", of {} in the sweep", grouped(all));
  if (const auto references = failing_references(verdict); references > 0)
    text += fmt::format(", {} {} not", count_text(references, "reference"), references == 1 ? "does" : "do");
  if (!verdict.selection.checks.empty()) text += fmt::format(", {} of {}", grouped(asked), count_text(checks, "check"));
  const auto incomplete = std::ranges::count_if(verdict.cells, &CellVerdict::incomplete);
  if (incomplete > 0) text += fmt::format(", {} incomplete", grouped(incomplete));
  if (unstable > 0) text += fmt::format(", {} unstable", grouped(unstable));
  if (!verdict.not_run.empty()) text += fmt::format(", {} not run", grouped(std::ssize(verdict.not_run)));
  if (verdict.comparison_mode == ComparisonMode::calibrated) text += " (within calibrated limits, not in bits)";
  return text;
}

std::string selection_words(const Verdict& verdict) {
  const Selection& selection = verdict.selection;
  const auto cells = std::max(selection.of_cells, std::ssize(verdict.cells));
  return fmt::format("{} of {}, {}", grouped(selection.cells < selection.of_cells ? selection.cells : cells),
                     count_text(cells, "case"),
                     selection.checks.empty() ? "all checks" : "checks " + join(selection.checks, ", "));
}

std::string claim(const Verdict& verdict) {
  if (verdict.cells.empty()) return "No case was run, so nothing was shown.";
  const std::string missing = not_recorded_words(verdict);
  if (verdict.holds)
    return claim_of_holding(verdict) +
           (missing.empty() ? "" : fmt::format(" Not judged, because it was not recorded: {}.", missing));
  const auto cells = std::ssize(verdict.cells);
  const auto failing =
      std::ranges::count_if(verdict.cells, [](const CellVerdict& cell) { return !cell.holds && !cell.incomplete(); });
  if (is_incomplete(verdict)) {
    const auto incomplete = std::ranges::count_if(verdict.cells, &CellVerdict::incomplete);
    return fmt::format(
        "Nothing differs in what was compared, but {} {} not compared in full; what is missing, and how to compare it, "
        "is below.",
        count_text(incomplete, "case"), incomplete == 1 ? "was" : "were");
  }
  if (failing > 0) {
    return fmt::format("{} of {} {} not hold; the first divergence of each is below.", count_text(failing, "case"),
                       grouped(cells), failing == 1 ? "does" : "do");
  }
  if (const auto references = failing_references(verdict); references > 0)
    return fmt::format("Every case that ran holds, but {} {} not: see below.", count_text(references, "reference"),
                       references == 1 ? "does" : "do");
  return "Every case that ran holds, but not every case ran: see below.";
}

bool asked_for(const Verdict& verdict, const CheckResult& check) {
  const auto& asked = verdict.selection.checks;
  return asked.empty() || check.name == "completion" || check.name == "as_asked" ||
         std::ranges::find(asked, check.name) != asked.end();
}

std::string data_gaps(const Verdict& verdict) {
  std::map<std::string, std::vector<std::string>> references;  // by reason
  for (const auto& reference : verdict.references) {
    for (const auto& check : reference.checks) {
      if (!check.required && !check.accepted && check.outcome == Outcome::incomplete)
        references[check.reason].push_back(reference.id);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [reason, ids] : references) parts.push_back(reason + " (" + join(ids, ", ") + ")");
  return join(parts, "; ");
}

std::vector<std::string> not_run_lines(const Verdict& verdict) {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<std::string>> cases;  // by reason
  for (const std::string& line : verdict.not_run) {
    const auto colon = std::min(line.find(": "), line.size());
    const std::string why = line.substr(colon);
    if (!cases.contains(why)) reasons.push_back(why);
    cases[why].push_back(line.substr(0, colon));
  }
  std::vector<std::string> lines;
  for (const std::string& why : reasons) {
    const auto count = std::ssize(cases[why]);
    lines.push_back((count == 1 ? cases[why].front() : count_text(count, "case")) + " not run" + why);
  }
  return lines;
}

std::string ran_words(const Verdict& verdict) {
  std::string words = count_text(std::ssize(verdict.cells), "case") + " ran";
  if (!verdict.not_run.empty()) words += ", " + grouped(std::ssize(verdict.not_run)) + " not run";
  if (!verdict.not_applicable.empty()) words += ", " + grouped(std::ssize(verdict.not_applicable)) + " not applicable";
  return words;
}

std::string from_its_folder(const Verdict& verdict, const std::string& command) {
  const std::string folder = harness_text(verdict, "folder").value_or("");
  return folder.empty() || command.empty() ? command : "cd " + shell_command({folder}) + " && " + command;
}

std::optional<std::string> harness_text(const Verdict& verdict, const char* key) {
  if (!verdict.harness.is_object()) return std::nullopt;
  const auto found = verdict.harness.find(key);
  if (found == verdict.harness.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

double run_seconds(const Verdict& verdict) {
  double seconds = 0;
  for (const CellVerdict& cell : verdict.cells) seconds += cell.seconds;
  for (const ReferenceVerdict& reference : verdict.references) seconds += reference.seconds;
  return seconds;
}

}  // namespace plumbline
