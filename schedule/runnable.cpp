// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/runnable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "schedule/lowering.hpp"
#include "schedule/own_messages.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "support/file_memo.hpp"

namespace plumbline {
namespace {

/// The first findings: several often show one mistake.
void refuse_findings(const std::string& file, const std::vector<ListFinding>& findings, const std::string& transport) {
  constexpr std::size_t most = 3;
  if (findings.empty()) return;
  std::string words = fmt::format("{}: {}", file, to_text(findings.front()));
  for (std::size_t i = 1; i < std::min(findings.size(), most); ++i) words += "; " + to_text(findings[i]);
  if (findings.size() > most)
    words += fmt::format("; and {} more: plumbline schedule check {} --transport {} lists all", findings.size() - most,
                         file, transport);
  throw InputError(words);
}

void refuse_other_sizes(const ScheduleRequest& request, const Schedule& schedule) {
  const auto words = [](std::int32_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const Placement& placement = schedule.placement;
  if (placement.ranks != request.ranks) {
    throw OtherSizes(
        fmt::format("{}: has rows for {}, the run has {}; start it with a world size of {}, or give a list with {}",
                    request.schedule, words(placement.ranks, "rank"), words(request.ranks, "rank"), placement.ranks,
                    words(request.ranks, "row")));
  }
  if (schedule.microbatches != request.microbatches) {
    throw OtherSizes(
        fmt::format("{0}: is for {1} microbatches, the run has {2}; give data.lengths {1} entries, or a list for {2}",
                    request.schedule, schedule.microbatches, request.microbatches));
  }
  if (request.chunks != 0 && request.chunks != placement.chunks_per_rank) {
    throw OtherSizes(fmt::format("{}: has {} a rank, pipeline.chunks is {}; remove pipeline.chunks", request.schedule,
                                 words(placement.chunks_per_rank, "chunk"), request.chunks));
  }
}

RunnableSchedule from_file(const ScheduleRequest& request) {
  if (request.ranks < 1) throw InputError(request.schedule + ": the world size must be at least 1");
  static FileMemo<ImportedSchedule> known;
  ImportedSchedule imported = *known.of(request.schedule, "", [&] { return import_schedule(request.schedule); });
  RunnableSchedule runnable;
  runnable.notes = std::move(imported.notes);
  Schedule& listed = imported.schedule;
  listed.name = std::filesystem::path(request.schedule).filename().string();
  const bool has_ending = any_action(listed, is_ending);
  runnable.own_messages = imported.has_messages || has_ending;
  if (!runnable.own_messages) {
    refuse_findings(request.schedule, find_faults(listed), request.transport);
    runnable.lowered = lower(listed, request.tied);
  } else {
    runnable.lowered = listed;
    if (!has_ending) add_ending(runnable.lowered, request.tied);
  }
  runnable.compute = compute_actions(std::move(listed));
  refuse_findings(request.schedule, verify(runnable.lowered, {.tied = request.tied}), request.transport);
  if (const auto own = find_own_messages(runnable.lowered, request.tied, request.transport)) {
    refuse_findings(request.schedule, {*own}, request.transport);
  }
  refuse_other_sizes(request, runnable.compute);
  return runnable;
}

}  // namespace

bool names_schedule_file(const std::string& schedule) {
  return schedule.ends_with(".csv");
}

RunnableSchedule make_runnable(const ScheduleRequest& request) {
  if (names_schedule_file(request.schedule)) return from_file(request);
  RunnableSchedule runnable;
  runnable.compute = make_schedule(request.schedule, request.ranks, request.microbatches,
                                   request.chunks > 0 ? request.chunks : default_chunks(request.schedule));
  runnable.lowered = lower(runnable.compute, request.tied);
  return runnable;
}

RunnableSchedule runnable_from_record(const std::string& path, const std::string& name, std::int32_t chunks_per_rank,
                                      bool tied) {
  RunnableSchedule runnable;
  Schedule listed = lists_from_csv(path, name, chunks_per_rank);
  runnable.own_messages = any_action(listed, [](ActionType type) { return !is_compute(type); });
  runnable.compute = compute_actions(listed);
  if (runnable.own_messages) {
    // The trainer already checked what its own transport asks for in addition.
    refuse_findings(path, verify(listed, {.tied = tied}), "mpi");
    runnable.lowered = std::move(listed);
  } else {
    runnable.lowered = lower(runnable.compute, tied);
  }
  return runnable;
}

}  // namespace plumbline
