// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/second_run.hpp"

#include <algorithm>

#include "harness/sweep/calibrate.hpp"
#include "harness/sweep/localize.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Limit of dumped cases: errors usually repeat in the next case, and dumps are large.
constexpr std::size_t most_dumps = 3;

std::vector<std::string> in_the_way(const CellVerdict& cell) {
  std::vector<std::string> names;
  for (const auto& check : cell.checks) {
    if (is_blocking(check)) names.push_back(check.name);
  }
  return names;
}

/// Checks that fail in both runs. New failures of the second run do not count: at level dump, for example, a process
/// needs more memory.
std::vector<std::string> failing_in_both(const CellVerdict& first, const CellVerdict& second) {
  auto both = in_the_way(first);
  const auto again = in_the_way(second);
  std::erase_if(both, [&](const auto& name) { return std::ranges::find(again, name) == again.end(); });
  return both;
}

/// A user's command needs the level as an argument: plumbline.Record(level=).
bool has_dumps_at_will(const PlannedCell& cell, const PlannedReference& reference) {
  if (!cell.command || !reference.command) return true;
  return uses_placeholder(*cell.command, "level") && uses_placeholder(*reference.command, "level");
}

}  // namespace

void SecondRuns::run(const PlannedCell& cell, const LaunchFinding& reference, CellVerdict& verdict) {
  if (in_the_way(verdict) == std::vector<std::string>{"repeatability"}) {
    verdict.second_run = SecondRun{SecondRun::Outcome::not_done, "it was run twice, and the two runs differ"};
    return;
  }
  // In the mode calibrated the case has already dumped its values.
  const bool can_dump = has_dumps_at_will(cell, plan_.references[cell.reference]);
  const bool dump =
      can_dump && !file_.calibrated && verdict.first_divergence && worth_a_dump(verdict) && dumps_ < most_dumps;
  if (dump) ++dumps_;
  try {
    verdict.second_run = again(cell, reference, dump, verdict);
    if (!can_dump && worth_a_dump(verdict)) verdict.second_run->words += level_hint;
  } catch (const Error& error) {
    if (signals_.stop_requested()) throw;
    verdict.second_run = SecondRun{SecondRun::Outcome::not_done, error.what()};  // for example, a full disk
  }
}

SecondRun SecondRuns::again(const PlannedCell& cell, const LaunchFinding& reference, bool dump, CellVerdict& verdict) {
  const PlannedReference& trained_alone = plan_.references[cell.reference];
  const bool replayed = reference_of_case(cell.plan, folder_) != folder_.reference(trained_alone.id);
  const fs::path one =
      !dump      ? reference_of_case(cell.plan, folder_)
      : replayed ? dumped_reference(replaying(trained_alone, folder_.cell(verdict.id)), "replay-" + verdict.id)
                 : dumped_reference(trained_alone, "reference-" + trained_alone.id);
  const fs::path other = dump ? folder_.dump(verdict.id) : folder_.again(verdict.id);
  PlannedCell repeated = dump ? at_level(cell, "dump") : cell;
  CellPlan& plan = repeated.plan;
  if (file_.calibrated) start_from_calibration(repeated, folder_.calibration(trained_alone.id));
  plan.repeat = false;
  plan.reference_request = dump ? at_level(trained_alone, "dump").request : trained_alone.request;
  plan.reference_launch = reference;
  plan.launch = trainers_.run(repeated, (dump ? "dump-" : "again-") + verdict.id, other);
  const CellVerdict second = services_.judge(plan, one, other, std::nullopt);
  const auto both = failing_in_both(verdict, second);
  const std::string where = (dump ? "at level dump, " : "") + other.string() + ": ";
  if (both.empty()) {
    return {SecondRun::Outcome::holds, where + join(in_the_way(verdict), ", ") + " did not fail in the second run"};
  }
  if (dump) localize(second, one, other, verdict);
  const bool located = second.first_divergence && !second.first_divergence->words.empty();
  std::string words = where + join(both, ", ");
  if (located) words += ". First divergence: " + second.first_divergence->words;
  if (dump && verdict.first_divergence && !verdict.first_divergence->size.empty())
    words += "; " + verdict.first_divergence->size;
  return {SecondRun::Outcome::fails_again, words};
}

fs::path SecondRuns::dumped_reference(const PlannedReference& reference, const std::string& id) {
  const fs::path record = folder_.dump(id);
  const auto whole = folder_.whole_launch("dump-" + id, reference.inputs);
  const auto ended = whole ? *whole : trainers_.run(at_level(reference, "dump"), "dump-" + id, record);
  if (ended.exit_code != 0) throw RunError("the reference failed at level dump: " + ended.words);
  return record;
}

/// Replaces digests by the first differing element if both runs diverge at the same place.
void SecondRuns::localize(const CellVerdict& second, const fs::path& reference, const fs::path& candidate,
                          CellVerdict& verdict) const {
  if (!second.first_divergence) return;
  const auto difference = first_element(*second.first_divergence, reference, candidate);
  keep_dumps_of_step(candidate, second.first_divergence->step);
  if (!difference || second.first_divergence->words != verdict.first_divergence->words) return;
  std::string& size = verdict.first_divergence->size;
  verdict.first_divergence->expected = difference->expected;
  verdict.first_divergence->got = difference->got;
  size += (size.empty() ? "" : "; ") + to_text(*difference);
}

}  // namespace plumbline
