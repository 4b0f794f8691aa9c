#include "reports/results_csv.hpp"

#include "support/csv.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string count(const CheckResult& check, const std::string& what) {
  const auto found = check.looked_at.find(what);
  return found == check.looked_at.end() ? "" : to_text(found->second);
}

}  // namespace

std::string results_csv(const Verdict& verdict) {
  std::string table = csv_line({"cell", "run", "model", "optimizer", "world", "schedule", "balance", "check", "outcome",
                                "required", "tensors", "elements", "limit", "measured", "margin", "reason"});
  for (const auto& cell : verdict.cells) {
    std::vector<std::string> layers;
    for (const auto stage : cell.balance) layers.push_back(to_text(stage));
    for (const auto& check : cell.checks) {
      table += csv_line({cell.id, cell.run, cell.model, cell.optimizer, to_text(cell.world), cell.schedule,
                         join(layers, " "), check.name, to_text(check.outcome), check.required ? "true" : "false",
                         count(check, "tensors"), count(check, "elements"), check.limit, check.measured,
                         check.margin ? to_text(*check.margin) : "", check.reason});
    }
  }
  return table;
}

}  // namespace plumbline
