// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/load_checkpoint.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <vector>

#include "model/load_weights.hpp"
#include "model/tied_names.hpp"
#include "support/error.hpp"
#include "support/tensor_files.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

void load(const TensorFiles& files, const std::string& name, at::Tensor& value, const CheckpointFile& file) {
  load_tensor(files, name, value);
  const auto written = file.digests.find(name);
  if (written == file.digests.end() || written->second != digest(value)) {
    throw InputError(files.where(name) + ": is not what was written: the file is damaged, or was changed since");
  }
}

/// A run may have been killed between naming a checkpoint and moving the link.
void mend_latest(const fs::path& checkpoint) {
  try {
    point_latest_at(checkpoint);
  } catch (const SystemError& error) {
    std::fprintf(stderr, "warning: %s\n", error.what());
  }
}

}  // namespace

ResumedFrom load_checkpoint(const fs::path& checkpoint, const Run& run, TrainState& state) {
  const CheckpointFile file = read_checkpoint_file(checkpoint);
  Json changes = changes_of_settings(file, run, checkpoint);
  require_own_config(file, checkpoint);
  if (file.steps > run.train.steps) {
    throw UnfitCheckpoint(checkpoint.string() + ": has made " + std::to_string(file.steps) + " steps, but " +
                          run.file.path.string() + " asks for " + std::to_string(run.train.steps));
  }
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::other);
  const TensorFiles model = TensorFiles::of_model(checkpoint), moments = TensorFiles::numbered(checkpoint, "state");
  for (TrainedParameter& each : state.parameters) {
    if (each.alias) continue;
    const std::string& name = owner_name(run.config, each.name);
    at::Tensor value = each.trained();
    load(model, name, value, file);
    if (each.moment1.defined()) load(moments, "moment1/" + name, each.moment1, file);
    if (each.moment2.defined()) load(moments, "moment2/" + name, each.moment2, file);
    if (each.updates.defined()) each.updates.fill_(static_cast<double>(file.steps));
  }
  round_masters(state);
  state.step = file.steps;
  return {file.written_by.value("run_id", "unknown"), file.steps, std::move(changes)};
}

std::optional<ResumedFrom> resume_training(const std::string& resume, const Run& run, TrainState& state,
                                           RankGroup& group) {
  const bool latest = resume == "latest";
  if (latest && !run.checkpoint.folder) {
    throw InputError("--resume latest: " + run.file.path.string() + " names no folder, [checkpoint] folder = \"...\"");
  }
  std::vector<fs::path> candidates{resume};
  if (latest) candidates = all_checkpoints(*run.checkpoint.folder);
  for (const fs::path& candidate : candidates) {
    std::string failure, unfit;
    ResumedFrom from;
    try {
      from = load_checkpoint(candidate, run, state);
    } catch (const UnfitCheckpoint& error) {
      unfit = error.what();
    } catch (const std::exception& error) {
      failure = describe_failure(error).words;
    }
    // All ranks use the same checkpoint: one with a damaged tensor on any rank is skipped on all.
    unfit = group.first_nonempty(unfit);
    failure = group.first_nonempty(failure);
    if (!unfit.empty()) throw InputError(unfit);
    if (failure.empty()) {
      if (latest && group.rank() == 0) mend_latest(candidate);
      return from;
    }
    if (!latest) throw InputError(failure);
    if (candidate == candidates.back()) {
      throw InputError(failure + "; there is no earlier checkpoint in " + run.checkpoint.folder->string() +
                       ", so --resume latest has nothing to resume: repair one, or start in another folder");
    }
    if (group.rank() == 0)
      std::fprintf(stderr, "warning: %s; resuming from the previous checkpoint\n", failure.c_str());
  }
  if (group.rank() == 0) {
    std::fprintf(stderr, "note: %s holds no checkpoint; training starts with step 0\n", run.checkpoint.folder->c_str());
  }
  return std::nullopt;
}

}  // namespace plumbline
