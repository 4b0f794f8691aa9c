// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_trainers.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <utility>

#include "support/error.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {

namespace fs = std::filesystem;

SweepTrainers::SweepTrainers(const SweepFile& file, const SweepInputs& inputs, const fs::path& programs,
                             const SweepFolder& folder, StopSignals& signals, std::function<void()> at_glance)
    : file_(file),
      inputs_(inputs),
      commands_(file, programs),
      folder_(folder),
      signals_(signals),
      at_glance_(std::move(at_glance)) {}

SweepTrainers SweepTrainers::on(std::vector<std::int64_t> slots) const {
  SweepTrainers same = *this;
  same.slots_ = std::move(slots);
  return same;
}

LaunchFinding SweepTrainers::run(const PlannedReference& reference, const std::string& id,
                                 const fs::path& record) const {
  return start(commands_.of(reference, folder_.launch(id)), id, record, reference.inputs, reference.request);
}

LaunchFinding SweepTrainers::run(const PlannedCell& cell, const std::string& id, const fs::path& record) const {
  PlannedCommand command = commands_.of(cell, folder_.launch(id));
  if (!cell.resumes_from) return start(std::move(command), id, record, cell.inputs, cell.plan.request);
  const std::string begun = "begun-" + id;
  const fs::path place = folder_.launch(begun), checkpoints = place / "checkpoints";
  PlannedCommand segment = commands_.first_segment_of(cell, place);
  segment.values["checkpoints"] = checkpoints.string();
  segment.words.insert(segment.words.end(),
                       {"--checkpoint", "{checkpoints}", "--stop-after", std::to_string(cell.resumes_from->steps)});
  LaunchFinding first = start(std::move(segment), begun, place / "record", cell.inputs, std::nullopt);
  if (first.exit_code != 0 || first.timed_out) return resume_not_run(std::move(first), id, record, cell.inputs);
  command.values["checkpoint"] = (checkpoints / fmt::format("step-{:08}", cell.resumes_from->steps)).string();
  command.words.insert(command.words.end(), {"--resume", "{checkpoint}"});
  const LaunchFinding finding = start(std::move(command), id, record, cell.inputs, cell.plan.request);
  std::error_code ignored;
  if (finding.exit_code == 0) fs::remove_all(checkpoints, ignored);
  return finding;
}

/// A finding for a case whose own launch did not start.
LaunchFinding SweepTrainers::resume_not_run(LaunchFinding first, const std::string& id, const fs::path& record,
                                            const RunInputs& inputs) const {
  make_way(record, folder_.launch(id), inputs);
  first.words = "the first part of the run failed: " + first.words;
  first.started = false;  // refers to the judged run
  first.culprit_rank.reset();
  write_json(folder_.launch(id) / "finding.json", to_json(first));
  return first;
}

/// A trainer's exit code concerns only its own case; a full disk stops the sweep.
void SweepTrainers::refuse_full_disk(const std::string& id) const {
  constexpr std::uintmax_t least_bytes = 1 << 20;
  const auto available = free_bytes(folder_.path());
  if (!available || *available >= least_bytes) return;
  throw SystemError(fmt::format("{} failed, and {} has only {} bytes left: the disk is full", id,
                                folder_.path().string(), *available));
}

LaunchFinding SweepTrainers::start(PlannedCommand command, const std::string& id, const fs::path& record,
                                   const RunInputs& inputs, const std::optional<Request>& request) const {
  if (signals_.stop_requested()) throw SystemError(fmt::format("stopped by {} before {}", signals_.name(), id));
  const fs::path place = folder_.launch(id);
  make_way(record, place, inputs);
  if (request) write_json(place / request_name, to_json(*request));
  Launch launch = commands_.launch(std::move(command), place, record, slots_);
  launch.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(file_.time_limit_s * 1000));
  std::exception_ptr failure;  // rethrown when the run has ended, so that no launch is abandoned
  launch.at_glance = [&] {
    try {
      if (!failure) at_glance_();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  const LaunchFinding finding = plumbline::launch(launch, signals_);
  if (failure) std::rethrow_exception(failure);
  inputs_.require_unchanged();
  if (finding.exit_code != 0) refuse_full_disk(id);  // before finding.json, with which --resume keeps the run
  write_json(launch.folder / "finding.json", to_json(finding));
  if (finding.interrupted) throw SystemError(finding.words + " while " + id + " ran");
  return finding;
}

}  // namespace plumbline
