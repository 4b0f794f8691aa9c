// SPDX-License-Identifier: BSD-3-Clause
#include "training/trainer_options.hpp"

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
                 "Resume from a checkpoint: latest, its folder, or none. It may be written by either trainer, with any "
                 "number of ranks")
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

void CheckpointOptions::use_in(Run& run, bool recorded) const {
  CheckpointSettings& settings = run.checkpoint;
  if (folder) settings.folder = *folder;
  if (every) settings.every = *every;
  if (keep) settings.keep = *keep;
  if (!settings.folder && run.file.checkpoint) {
    throw InputError(run.file.path.string() +
                     ", key checkpoint.folder: is missing; name the folder to save in, or give --checkpoint DIR");
  }
  if (!settings.folder && (every || keep)) {
    throw InputError(
        "--checkpoint-every and --checkpoint-keep need a folder: --checkpoint DIR, or [checkpoint] folder");
  }
  if (!settings.folder && !recorded) {
    throw InputError("nothing of this run would be saved: give --checkpoint DIR (or [checkpoint] folder in " +
                     run.file.path.string() + ") to save what is trained, or --record DIR to have it judged");
  }
  if (stop_after && !settings.folder) {
    throw InputError("--stop-after needs a folder to save in: --checkpoint DIR, or [checkpoint] folder");
  }
  if (discard_later && !settings.folder) {
    throw InputError("--discard-later needs the folder that has them: --checkpoint DIR, or [checkpoint] folder");
  }
  run.stop_after = stop_after;
  run.discard_later = discard_later;
  if (resume != "none") run.resume = resume;
  if (!recorded) run.record_level = RecordLevel::none;
  run.stops_where_not_finite = !recorded;
}

void TrainerOptions::add_to(CLI::App& app, const std::string& keys) {
  app.add_option("RUN.toml", run_file, "Run file: " + keys);
  app.add_option("--record", record, "Folder for the run record; must be empty or new")->type_name("DIR");
  checkpoint.add_to(app);
  app.add_option("--text", text, "Train on this UTF-8 file instead of the run file's data")->type_name("FILE");
}

Run load_run(const TrainerOptions& options, bool recorded) {
  Run run = load_run(options.run_file, options.text, options.checkpoint.assignments);
  if (options.device == "cuda") run.device = at::Device(at::kCUDA);
  options.checkpoint.use_in(run, recorded);
  return run;
}

}  // namespace plumbline
