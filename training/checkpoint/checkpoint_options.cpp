// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/checkpoint_options.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>

#include "support/error.hpp"

namespace plumbline {

void CheckpointOptions::add_to(CLI::App& app) {
  app.add_option("--checkpoint", folder, "Folder that checkpoints are saved in (docs/checkpoints.md)")
      ->type_name("DIR");
  app.add_option("--checkpoint-every", every, "Steps between checkpoints; 0: only at the end")
      ->check(CLI::Range(0, INT32_MAX));
  app.add_option("--checkpoint-keep", keep, "Number of checkpoints kept, the newest")->check(CLI::Range(1, INT32_MAX));
  app.add_option("--stop-after", stop_after, "Save after this number of steps of the training, and end")
      ->check(CLI::Range(1, INT32_MAX));
  app.add_option("--resume", resume,
                 "Resume from a checkpoint: latest, its folder, or none; whatever trainer and number of ranks it was "
                 "written")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option(
         "--set", assignments,
         "Use this value instead of the run file's, for example train.learning_rate=5e-4; with --resume the few "
         "keys that may change then (docs/checkpoints.md)")
      ->type_name("TABLE.KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag(
      "--discard-later", discard_later,
      "Rename checkpoints of the folder that are later than where this run starts to step-N.discarded; without "
      "it such a run is refused");
}

void CheckpointOptions::use_in(TrainingRun& training, bool recorded) const {
  CheckpointSettings& settings = training.run.checkpoint;
  if (folder) settings.folder = *folder;
  if (every) settings.every = *every;
  if (keep) settings.keep = *keep;
  if (!settings.folder && settings.asked) {
    throw InputError(training.run.path.string() +
                     ", key checkpoint.folder: is missing; name the folder to save in, or give --checkpoint DIR");
  }
  if (!settings.folder && (every || keep)) {
    throw InputError(
        "--checkpoint-every and --checkpoint-keep need a folder: --checkpoint DIR, or [checkpoint] folder");
  }
  if (!settings.folder && !recorded) {
    throw InputError("nothing of this run would be saved: give --checkpoint DIR (or [checkpoint] folder in " +
                     training.run.path.string() + ") to save what is trained, or --record DIR to have it judged");
  }
  if (stop_after && !settings.folder) {
    throw InputError("--stop-after needs a folder to save in: --checkpoint DIR, or [checkpoint] folder");
  }
  if (discard_later && !settings.folder) {
    throw InputError("--discard-later needs the folder that has them: --checkpoint DIR, or [checkpoint] folder");
  }
  training.stop_after = stop_after;
  training.discard_later = discard_later;
  if (resume != "none") training.resume = resume;
  if (!recorded) training.run.record_level = RecordLevel::none;
  training.run.train.ends_where_not_finite = !recorded;
}

}  // namespace plumbline
