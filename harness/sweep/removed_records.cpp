// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/removed_records.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* removed_record_name = "record-removed.txt";
constexpr const char* kept_reference_name = "reference.json";
constexpr const char* why_removed =
    "The cases judged with this record held, and the sweep kept records of failures alone (--keep failures). The "
    "verdict is in verdict.json.\n";

/// Everything except the case's verdict.
void remove_record(const fs::path& record) {
  if (!path_exists(record) || record_was_removed(record)) return;
  write_file(record / removed_record_name, why_removed);
  std::error_code error;
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(record, error)) {
    const std::string name = entry.path().filename().string();
    if (name != removed_record_name && name != "cell.json" && name != kept_reference_name)
      parts.push_back(entry.path());
  }
  for (const auto& part : parts) {
    fs::remove_all(part, error);
    if (error) throw SystemError(part.string() + ": cannot be removed: " + error.message());
  }
}

}  // namespace

bool record_was_removed(const fs::path& record) {
  return path_exists(record / removed_record_name);
}

std::optional<Verdict> kept_of_reference(const fs::path& record) {
  if (!record_was_removed(record)) return std::nullopt;
  Verdict kept = read_kept_verdict(record / kept_reference_name);
  if (kept.references.size() != 1)
    throw InputError((record / kept_reference_name).string() + ": is not as this program writes it");
  return kept;
}

void remove_records_that_hold(const SweepPlan& plan, const Verdict& verdict, const SweepFolder& folder) {
  std::vector<bool> needed(plan.references.size(), false);
  for (const auto& cell : plan.cells) {
    const auto found = std::ranges::find(verdict.cells, cell.plan.id, &CellVerdict::id);
    if (found == verdict.cells.end() || !found->holds || found->second_run) {
      needed[cell.reference] = true;
      continue;
    }
    remove_record(folder.cell(cell.plan.id));
    remove_record(folder.repeat(cell.plan.id));
    remove_record(folder.replay(cell.plan.id));
  }
  for (std::size_t i = 0; i < plan.references.size(); ++i) {
    const fs::path record = folder.reference(plan.references[i].id);
    const auto found = std::ranges::find(verdict.references, plan.references[i].id, &ReferenceVerdict::id);
    if (needed[i] || found == verdict.references.end() || record_was_removed(record)) continue;
    Verdict kept;
    kept.name = found->id;
    kept.started = verdict.started;
    kept.machine = verdict.machine;
    kept.references = {*found};
    write_kept_verdict(record / kept_reference_name, kept);
    remove_record(record);
  }
}

}  // namespace plumbline
