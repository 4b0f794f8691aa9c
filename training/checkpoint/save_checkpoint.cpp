// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/save_checkpoint.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <sstream>
#include <vector>

#include "model/tied_names.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/failure.hpp"
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

/// Of ranks that hold the same tensors each writes some, one after the other.
class Share {
 public:
  explicit Share(const RankGroup& group) : copies_(group.copies()), next_(group.copy()) {}
  bool takes_next() {
    const bool takes = next_ == 0;
    next_ = (next_ + copies_ - 1) % copies_;
    return takes;
  }

 private:
  int copies_, next_;
};

/// A rank's report to rank 0: lines "file name digest bytes", or "error" and the reason.
std::string write_own(const fs::path& folder, const LlamaConfig& config, const TrainState& state,
                      const RankGroup& group) {
  NamedTensors model, moments;
  std::string reports;
  Share share(group);
  for (const TrainedParameter& each : state.parameters) {
    if (each.alias || is_tied_head(config, each.name)) continue;  // written by the rank that owns the embedding
    const bool own = share.takes_next();
    const auto take = [&](NamedTensors& tensors, const std::string& name, const at::Tensor& value) {
      if (!value.defined()) return;
      if (own) tensors.push_back({name, value});
      if (!own) reports += not_written + " " + name + " " + digest(value) + " 0\n";
    };
    take(model, each.name, each.trained());
    take(moments, "moment1/" + each.name, each.moment1);
    take(moments, "moment2/" + each.name, each.moment2);
  }
  const auto save = [&](const std::string& prefix, const NamedTensors& tensors) {
    const std::string file = numbered_file(prefix, group.rank() + 1, group.size());
    write_tensors(folder / file, tensors);
    for (const auto& [name, value] : tensors) {
      reports += file + " " + name + " " + digest(value) + " " + std::to_string(value.nbytes()) + "\n";
    }
  };
  try {
    save("model", model);
    save("state", moments);
  } catch (const Error& error) {
    return std::string("error ") + error.what();
  }
  return reports;
}

const std::string replicas_differ = "replicas of the pipeline hold different bits of";

/// Written by rank 0: the index, the model's config, checkpoint.json.
void write_shared(const fs::path& folder, const TrainingRun& training, const TrainState& state,
                  const std::vector<std::string>& reports) {
  CheckpointFile file;
  Json map = Json::object();
  std::int64_t total = 0;
  for (const std::string& lines : reports) {
    std::istringstream in(lines);
    std::int64_t bytes = 0;
    for (std::string shard, name, digest; in >> shard >> name >> digest >> bytes;) {
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
  file.steps = state.step;
  file.training = training_settings(training);
  write_json(folder / "config.json", saved_config(file.training));
  file.written_by = {{"run_id", training.run_id},
                     {"ranks", reports.size()},
                     {"commit", version_text("plumbline")},
                     {"epochs", training.plan.epochs(state.step)}};
  write_checkpoint_file(folder, file);
}

}  // namespace

std::optional<std::string> save_checkpoint(const fs::path& folder, const TrainingRun& training, const TrainState& state,
                                           RankGroup& group) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::recorder);
  const fs::path partial = partial_path(folder, state.step);
  group.leave_steps();
  std::optional<std::string> failure;
  const auto attempt = [&](const std::function<void()>& body) {
    if (group.rank() != 0 || failure) return;
    if (const auto failed = failure_of(body)) failure = failed->words;
  };
  attempt([&] {
    remove_partial_checkpoints(folder);
    make_folder(partial);
  });
  group.broadcast("");  // the folder exists now
  const std::vector<std::string> reports = group.gather(write_own(partial, training.config, state, group));
  for (const std::string& one : reports) {
    if (one.starts_with("error ") && !failure) failure = one.substr(6);
  }
  attempt([&] { write_shared(partial, training, state, reports); });
  attempt([&] { publish_checkpoint(folder, state.step); });
  attempt([&] { prune_checkpoints(folder, training.run.checkpoint.keep); });
  if (failure) remove_partial_checkpoints(folder);
  const std::string told_all =
      group.broadcast(failure.value_or(""));  // no rank begins a step while another still writes
  group.enter_steps();
  if (told_all.empty()) return std::nullopt;
  if (told_all.starts_with(replicas_differ)) throw RunError(told_all);  // on every rank
  return told_all;
}

}  // namespace plumbline
