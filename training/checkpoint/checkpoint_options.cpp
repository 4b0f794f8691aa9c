#include "training/checkpoint/checkpoint_options.hpp"

#include "support/error.hpp"

namespace plumbline {

void CheckpointOptions::use_in(TrainingRun& training, bool recorded) const {
  CheckpointSettings& settings = training.run.checkpoint;
  if (folder) settings.folder = *folder;
  if (every) settings.every = *every;
  if (keep) settings.keep = *keep;
  if (!settings.folder && (every || keep)) {
    throw InputError(
        "--checkpoint-every and --checkpoint-keep need a folder: --checkpoint DIR, or [checkpoint] folder");
  }
  if (!settings.folder && !recorded) {
    throw InputError("nothing of this run would be kept: give --checkpoint DIR (or [checkpoint] folder in " +
                     training.run.path.string() + ") to keep what is trained, or --record DIR to have it judged");
  }
  if (stop_after && !settings.folder) {
    throw InputError("--stop-after needs a folder to save in: --checkpoint DIR, or [checkpoint] folder");
  }
  training.stop_after = stop_after;
  if (resume != "none") training.resume = resume;
  if (!recorded) training.run.record_level = RecordLevel::none;
  training.run.train.ends_where_not_finite = !recorded;
}

}  // namespace plumbline
