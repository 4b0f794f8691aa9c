// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/two_ranks.hpp"

#include "harness/launch/default_launcher.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "harness/sweep/run_commands.hpp"
#include "record/exit_file.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t ranks = 2;

constexpr const char* run = R"([model]
config = "model.json"
[data]
text = "text.txt"
lengths = [2, 2]
[train]
steps = 1
[pipeline]
transport = "mpi"
)";

void write_run(const fs::path& folder) {
  write_file(folder / "run.toml", run);
  write_file(folder / "text.txt", "the text of a run of two ranks, one step long");
  write_json(folder / "model.json", {{"model_type", "llama"},
                                     {"vocab_size", 256},
                                     {"hidden_size", 8},
                                     {"intermediate_size", 8},
                                     {"num_hidden_layers", 2},
                                     {"num_attention_heads", 1},
                                     {"num_key_value_heads", 1},
                                     {"max_position_embeddings", 2},
                                     {"rms_norm_eps", 1e-5},
                                     {"tie_word_embeddings", false}});
}

std::int64_t arrived_in(const fs::path& record) {
  std::int64_t arrived = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    try {
      const auto ended = read_exit_file(record / rank_folder(rank) / "exit.json");
      if (ended && ended->status == "ok") ++arrived;
    } catch (const InputError&) {  // the record is damaged
    }
  }
  return arrived;
}

}  // namespace

Json start_two_ranks(const fs::path& trainers, StopSignals& signals) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path();
  Json found = {{"launcher", default_launcher()}, {"asked", ranks}, {"arrived", 0}, {"why_not", nullptr}};
  Launch launch;
  launch.command = launcher_words(default_launcher(), ranks);
  launch.program = (trainers / pipeline_program).string();
  launch.command.insert(launch.command.end(), {launch.program, (folder / "run.toml").string(), "--record",
                                               (folder / "record").string(), "--quiet"});
  launch.folder = folder;
  launch.record = folder / "record";
  launch.ranks = ranks;
  launch.speaker = pipeline_program;
  launch.time_limit = std::chrono::seconds(60);
  try {
    write_run(folder);
    const auto finding = plumbline::launch(launch, signals);
    if (finding.interrupted) throw SystemError(finding.words);
    found["arrived"] = arrived_in(launch.record);
    if (finding.exit_code != 0) found["why_not"] = finding.words;
  } catch (const SystemError& error) {
    if (signals.asked()) throw;
    found["why_not"] = error.what();
  }
  if (found["why_not"].is_null() && found["arrived"] != ranks) {
    found["why_not"] = "the run ended with code 0, but not every rank recorded that it ended well";
  }
  return found;
}

}  // namespace plumbline
