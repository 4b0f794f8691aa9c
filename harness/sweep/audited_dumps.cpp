// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/audited_dumps.hpp"

#include <algorithm>

#include "record/removed_dumps.hpp"

namespace plumbline {
namespace {

const std::string held_audit =
    "The sweep recomputed (key audit) the values in these dumps and removed the dumps at its end, because every "
    "case of this reference held. plumbline sweep --keep-dumps keeps them.";

void remove_if_there(const std::filesystem::path& record) {
  std::error_code missing;
  if (std::filesystem::exists(record / "manifest.json", missing)) remove_dumps(record, held_audit);
}

}  // namespace

void remove_audited_dumps(const SweepPlan& plan, const std::vector<CellVerdict>& verdicts, const SweepFolder& folder) {
  for (std::size_t reference = 0; reference < plan.references.size(); ++reference) {
    if (!plan.references[reference].changes.dump) continue;
    std::vector<std::string> ids;
    for (const auto& cell : plan.cells) {
      if (cell.reference == reference) ids.push_back(cell.plan.id);
    }
    const bool all_hold = std::ranges::all_of(ids, [&](const std::string& id) {
      const auto found = std::ranges::find(verdicts, id, &CellVerdict::id);
      return found != verdicts.end() && found->holds;
    });
    if (!all_hold) continue;
    remove_if_there(folder.reference(plan.references[reference].id));
    for (const auto& id : ids) {
      remove_if_there(folder.cell(id));
      remove_if_there(folder.repeat(id));
    }
  }
}

}  // namespace plumbline
