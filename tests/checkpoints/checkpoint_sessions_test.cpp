// SPDX-License-Identifier: BSD-3-Clause
// Trainings that save and resume, as users type them: tests/approved/checkpoints. Ranks are threads.
#include <CLI/CLI.hpp>
#include <iostream>

#include "pipeline/launch.hpp"
#include "reference/trainer.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/limited_threads.hpp"
#include "tests/session.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/run_description.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class CheckpointSession : public Session {
 public:
  CheckpointSession() {
    add("train", [](const Words& words) { return train(words); });
    add("check", [](const Words& words) {
      ReferenceOptions options;
      parse(options, words, 1);
      check_inputs(load_run(options, false), {});
      std::puts("can run");
      return 0;
    });
    add("same", [](const Words& words) {
      const bool equal = read_checkpoint_file(words.at(1)).digests == read_checkpoint_file(words.at(2)).digests;
      std::puts(equal ? "the same bits" : "other bits");
      return 0;
    });
    add("column", [](const Words& words) {
      std::string cells;
      for (const std::string& cell : column(words.at(1), words.at(2))) cells += (cells.empty() ? "" : ",") + cell;
      std::puts(cells.c_str());
      return 0;
    });
    add("flip", [](const Words& words) {
      std::string bytes = bytes_of(words.at(1));
      bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 1);
      std::ofstream(words.at(1), std::ios::binary) << bytes;
      return 0;
    });
  }

 private:
  /// The options of words[first] and on. The run file is run.toml.
  static void parse(TrainerOptions& options, const Words& words, std::ptrdiff_t first) {
    CLI::App app;
    options.add_to(app, "");
    options.run_file = "run.toml";
    options.progress = false;
    try {
      app.parse(Words(words.rbegin(), words.rend() - first));
    } catch (const CLI::ParseError& error) {
      throw InputError(error.what());
    }
  }

  /// "train RANKS OPTION...": 0 ranks are the reference.
  static int train(const Words& words) {
    const int ranks = std::stoi(words.at(1));
    if (ranks == reference_alone) {
      ReferenceOptions options;
      parse(options, words, 2);
      train_reference(options);
      return 0;
    }
    PipelineOptions options;
    parse(options, words, 2);
    options.transport = "threads";
    options.world = ranks;
    options.make_transports = limited_threads;
    return train_pipeline(options);
  }

  /// "run": run.toml, three steps of two microbatches, and what it names. "saved": that, trained by the reference with
  /// a checkpoint of each step in `c`.
  void start(const std::string& word) override {
    for (const char* each : {"corpus", "models"})
      fs::copy(fs::path(fixtures_path()) / each, folder_ / each, fs::copy_options::recursive);
    folder_.file("run.toml",
                 "[model]\nconfig = \"models/stories260k/config.json\"\n[data]\ntext = \"corpus/\"\nlengths = [9, 4]\n"
                 "[train]\nsteps = 3\nwarmup_steps = 1\nstart_factor = 0.5\nclip_norm = 1.0\n");
    if (word != "saved") return;
    ReferenceOptions options;
    options.run_file = folder_ / "run.toml";
    options.checkpoint.folder = folder_ / "c";
    options.checkpoint.every = 1;
    options.progress = false;
    train_reference(options);
  }
};

class CheckpointSessions : public ::testing::TestWithParam<const char*> {};

TEST_P(CheckpointSessions, AreAsApproved) {
  expect_answers(std::string("checkpoints/") + GetParam() + ".txt",
                 [](const std::string& lines) { return CheckpointSession().answer(lines); });
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, CheckpointSessions,
                         ::testing::Values("folders", "later-work", "resume", "refused"), [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace plumbline::testing
