// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/checkpoints.hpp"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "training/action_log.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

/// Collective: rank 0 runs `body`; its failure is thrown on every rank.
void on_rank_0(RankGroup& group, const std::function<void()>& body) {
  std::string failure;
  if (group.rank() == 0) {
    if (const auto failed = failure_of(body)) failure = std::to_string(static_cast<int>(failed->code)) + failed->words;
  }
  failure = group.broadcast(failure);
  if (failure.empty()) return;
  const std::string words = failure.substr(1);
  if (static_cast<ExitCode>(failure.front() - '0') == ExitCode::bad_input) throw InputError(words);
  throw SystemError(words);
}

}  // namespace

Checkpoints::Checkpoints(const Run& run, RankGroup& group)
    : run_(run),
      group_(group),
      signal_(group.size() == 1 || run.pipeline.transport == "threads"),
      save_(*run.checkpoint.folder, run, group) {
  group.carry_request(SaveSignal::asked);
  const fs::path& folder = *run.checkpoint.folder;
  const fs::path seen = folder / ".seen";  // written by rank 0; all ranks must see it
  std::string word;
  on_rank_0(group, [&] {
    make_folder(folder);
    lock_.emplace(folder);
    remove_partial_checkpoints(folder);
    word = new_run_id();
    write_file(seen, word);
  });
  word = group.broadcast(word);
  std::string local;
  if (!path_exists(seen) || read_file(seen) != word) {
    local = folder.string() + ": rank " + std::to_string(group.rank()) +
            " does not see what rank 0 wrote there; name a folder that all machines share";
  }
  local = group.first_nonempty(local);
  std::error_code ignored;
  if (group.rank() == 0) fs::remove(seen, ignored);
  if (!local.empty()) throw InputError(local);
}

void Checkpoints::start_after(const std::optional<ResumedFrom>& resumed_from) {
  const std::int64_t steps = resumed_from ? resumed_from->step : 0;
  if (resumed_from) save_.set_changes(resumed_from->changes);
  on_rank_0(group_, [&] {
    if (!run_.discard_later) require_no_later_work(run_, steps);
    discard_later_work(run_, steps);
  });
}

bool Checkpoints::step_ended(const TrainState& state, const RowWriter& write_row) {
  const CheckpointSettings& settings = run_.checkpoint;
  const bool planned = run_.stop_after && state.step >= *run_.stop_after;
  const bool stop = group_.request_carried() || planned;
  const bool last = state.step == run_.train.steps;
  const bool due = stop || last || (settings.every > 0 && state.step % settings.every == 0);
  if (!due && !save_.pending()) {
    write_row(0, false);
    return false;
  }
  const std::int64_t begin_ns = monotonic_ns();
  if (save_.pending()) {  // in the background
    if (due) save_.finish();
    if (due || save_.poll()) warn_of_failure();
  }
  const bool in_background = settings.background && !stop && !last;
  if (due) {
    save_.start(state, in_background);
    if (!in_background) save_.write();
  }
  // A checkpoint that is published has the rows of all its steps.
  write_row(static_cast<double>(monotonic_ns() - begin_ns) * 1e-9, due);
  if (due && !in_background) {
    save_.finish();
    warn_of_failure();
  }
  if (stop || last) save_error_ = save_.failure().value_or("");
  if (stop && group_.rank() == 0 && !last && save_error_.empty()) {
    std::fprintf(stderr, "note: stopped %safter %lld steps; continue with --resume latest\n",
                 planned ? "" : "by a signal ", static_cast<long long>(state.step));
  }
  stopped_by_signal_ = stop && !planned && !last;
  return stop && !last;
}

std::string Checkpoints::finish() {
  if (save_.pending()) {
    save_.finish();
    warn_of_failure();
  }
  std::string newest;
  if (group_.rank() == 0) {
    const std::vector<fs::path> whole = whole_checkpoints(*run_.checkpoint.folder);
    if (!whole.empty()) newest = whole.front().string();
  }
  return group_.broadcast(newest);
}

void Checkpoints::warn_of_failure() const {
  if (!save_.failure() || group_.rank() != 0) return;
  std::fprintf(stderr, "warning: no checkpoint after step %lld: %s\n", static_cast<long long>(save_.steps() - 1),
               save_.failure()->c_str());
}

void Checkpoints::require_saved() const {
  if (save_error_.empty()) return;
  throw SystemError("the last checkpoint could not be saved, so the steps since the previous one are lost: " +
                    save_error_ + "; --resume latest repeats them");
}

}  // namespace plumbline
