// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/checkpoint_save.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <sstream>
#include <utility>

#include "model/tied_names.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/tensor_files.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// In place of a file's name: another rank writes the tensor.
const std::string not_written = "-";

const std::string replicas_differ = "replicas of the pipeline hold different bits of";

/// A rank's tensors as they are saved: under Hugging Face's names, and the moments.
struct SavedTensors {
  NamedTensors model, moments;
  NamedTensors others;  ///< written by another replica of this rank
};

/// Ranks with the same tensors take turns: each writes some.
SavedTensors own_tensors(const LlamaConfig& config, const TrainState& state, const RankGroup& group, int replicas) {
  const int copies = group.size() == 1 ? 1 : replicas;  // one device has no replicas
  const int copy = group.rank() / (group.size() / copies);
  SavedTensors own;
  int turn = 0;
  for (const TrainedParameter& each : state.parameters) {
    if (each.alias || is_tied_head(config, each.name)) continue;  // written by the rank that owns the embedding
    const bool writes = turn == copy;
    turn = (turn + 1) % copies;
    const auto take = [&](NamedTensors& tensors, const std::string& name, const at::Tensor& value) {
      if (value.defined()) (writes ? tensors : own.others).push_back({name, value});
    };
    take(own.model, each.name, each.trained());
    take(own.moments, "moment1/" + each.name, each.moment1);
    take(own.moments, "moment2/" + each.name, each.moment2);
  }
  return own;
}

/// A rank's report to rank 0: "written" and lines "file name digest bytes", or "error" and the reason. Checks before
/// each tensor that the time limit has not passed.
std::string write_own(const fs::path& folder, const SavedTensors& own, int rank, int ranks,
                      std::chrono::milliseconds limit) {
  const auto begun = std::chrono::steady_clock::now();
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::recorder);
  std::string report = "written\n";
  const auto in_time = [&] {
    if (std::chrono::steady_clock::now() - begun < limit) return;
    throw SystemError(folder.string() + ": rank " + std::to_string(rank) + " has not written its files within " +
                      std::to_string(limit.count()) +
                      " ms; choose a faster disk, take more ranks, or raise checkpoint.timeout_ms");
  };
  const auto save = [&](const std::string& kind, const NamedTensors& tensors) {
    const std::string file = numbered_file(kind, rank + 1, ranks);
    write_tensors(folder / file, tensors, in_time);
    for (const auto& [name, value] : tensors) {
      in_time();
      report += file + " " + name + " " + digest(value) + " " + std::to_string(value.nbytes()) + "\n";
    }
  };
  const auto failed = failure_of([&] {
    save("model", own.model);
    save("state", own.moments);
    for (const auto& [name, value] : own.others) report += not_written + " " + name + " " + digest(value) + " 0\n";
  });
  return failed ? "error " + failed->words : report;
}

/// Written by rank 0: the index, the model's config, checkpoint.json.
void write_shared(const fs::path& folder, const Run& run, const Json& changes, std::int64_t steps,
                  const std::vector<std::string>& reports) {
  CheckpointFile file;
  Json map = Json::object();
  std::int64_t total = 0;
  for (const std::string& lines : reports) {
    std::istringstream in(lines);
    std::int64_t bytes = 0;
    std::string shard, name, digest;
    for (in >> shard; in >> shard >> name >> digest >> bytes;) {
      const auto [known, first] = file.digests.emplace(name, digest);
      if (!first && known->second != digest) {
        throw InputError(replicas_differ + " " + name + " (" + digest + " and " + known->second +
                         "): they did not make the same updates, and no checkpoint is saved");
      }
      if (!shard.starts_with("model-")) continue;
      map[name] = shard;
      total += bytes;
    }
  }
  write_json(folder / "model.safetensors.index.json",
             {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}});
  file.steps = steps;
  file.settings = training_settings(run);
  file.changes = changes;
  write_json(folder / "config.json", saved_config(file.settings));
  file.written_by = {{"run_id", run.id},
                     {"ranks", reports.size()},
                     {"commit", version_text("plumbline")},
                     {"epochs", run.batches.epochs(steps)}};
  write_checkpoint_file(folder, file);
}

/// Whether the result can be taken: always once the caller waits.
bool is_ready(const std::future<std::string>& result, bool wait) {
  return wait || result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

void CheckpointSave::start(const TrainState& state, bool in_background) {
  steps_ = state.step;
  failure_.reset();
  phase_ = Phase::writing;
  policy_ = in_background ? std::launch::async : std::launch::deferred;
  reports_.assign(static_cast<std::size_t>(group_.size()), {});
  const fs::path partial = partial_path(folder_, steps_);
  if (group_.rank() == 0) {
    const auto failed = failure_of([&] {
      remove_partial_checkpoints(folder_);
      make_folder(partial);
    });
    if (failed) failure_ = failed->words;
  }
  group_.leave_steps();  // removing a large one may take long
  group_.broadcast("");  // the folder exists now
  group_.enter_steps();
  SavedTensors own = own_tensors(run_.config, state, group_, run_.pipeline.replicas);
  if (in_background) {
    std::size_t next = 0;
    own = {copied(own.model, next), copied(own.moments, next), copied(own.others, next)};
  }
  const std::chrono::milliseconds limit(run_.checkpoint.timeout_ms);
  own_ = std::async(policy_, [partial, own = std::move(own), rank = group_.rank(), ranks = group_.size(), limit] {
    return write_own(partial, own, rank, ranks, limit);
  });
}

NamedTensors CheckpointSave::copied(const NamedTensors& tensors, std::size_t& next) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::checkpoint);
  NamedTensors copies;
  for (const auto& [name, value] : tensors) {
    if (next == copies_.size()) {
      const auto on_host = value.options().device(at::kCPU).requires_grad(false);
      copies_.push_back(at::empty(value.sizes(), on_host.pinned_memory(value.is_cuda())));
    }
    copies_[next].copy_(value);
    copies.push_back({name, copies_[next++]});
  }
  return copies;
}

void CheckpointSave::finish() {
  group_.leave_steps();
  while (!advance(true)) {
  }
  group_.enter_steps();
}

/// Each rank reports to rank 0 once it has written; rank 0 publishes when all have, and broadcasts how that ended.
bool CheckpointSave::advance(bool wait) {
  std::string own;
  if (own_.valid() && is_ready(own_, wait)) own = own_.get();
  const std::vector<std::string> reports = group_.gather(own);
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].empty()) reports_[rank] = reports[rank];
  }
  std::string ended;
  if (group_.rank() == 0 && std::ranges::none_of(reports_, &std::string::empty)) {
    if (phase_ == Phase::writing) published_ = std::async(policy_, [this] { return publish(reports_); });
    phase_ = Phase::publishing;
    if (is_ready(published_, wait)) ended = "ended " + published_.get();
  }
  ended = group_.broadcast(ended);
  if (ended.empty()) return false;
  phase_ = Phase::none;
  failure_.reset();
  if (const std::string reason = ended.substr(6); !reason.empty()) failure_ = reason;
  if (failure_ && failure_->starts_with(replicas_differ)) throw RunError(*failure_);  // on every rank
  return true;
}

std::string CheckpointSave::publish(const std::vector<std::string>& reports) const {
  std::string failure = failure_.value_or("");
  for (const std::string& each : reports) {
    if (failure.empty() && each.starts_with("error ")) failure = each.substr(6);
  }
  const auto attempt = [&](const std::function<void()>& body) {
    if (!failure.empty()) return;
    if (const auto failed = failure_of(body)) failure = failed->words;
  };
  attempt([&] { write_shared(partial_path(folder_, steps_), run_, changes_, steps_, reports); });
  attempt([&] { publish_checkpoint(folder_, steps_); });
  attempt([&] { prune_checkpoints(folder_, run_.checkpoint.keep); });
  if (!failure.empty()) remove_partial_checkpoints(folder_);
  return failure;
}

}  // namespace plumbline
