// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/preflight.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "harness/launch/last_words.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "harness/sweep/original_words.hpp"
#include "harness/sweep/run_variant.hpp"
#include "harness/sweep/side_by_side.hpp"
#include "harness/sweep/trainer_programs.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Question {
  std::string program;
  fs::path run;                      ///< the user's file
  std::string text;                  ///< the run's text, for a file two folders below the common one
  std::string accumulation;          ///< of a reference, if it is not ascending
  std::vector<std::string> options;  ///< of the program
  std::vector<std::string> ids;
};

class Questions {
 public:
  Questions(const PreparedSweep& sweep, const fs::path& place) : sweep_(sweep), folder_(place / "run") {
    for (const auto& reference : sweep.plan.references) {
      Question question = of_reference(reference.run, reference.changes, "reference-" + reference.id);
      question.accumulation = reference.accumulation;
      add(std::move(question));
    }
    for (const auto& cell : sweep.plan.cells) {
      if (const auto& begin = cell.goes_on_with) {
        add(begin->schedule == by_the_reference ? of_reference(cell.run, cell.changes, cell.plan.id)
                                                : of_pipeline(cell, begin->schedule, begin->world));
      }
      add(of_pipeline(cell, cell.schedule, cell.plan.world));
    }
  }

  std::vector<Question> all;

 private:
  Question of_reference(const fs::path& run, const RunChanges& changes, const std::string& id) const {
    return {reference_program, run, reference_run(run, changes, folder_), "", {}, {id}};
  }
  Question of_pipeline(const PlannedCell& cell, const std::string& schedule, std::int64_t world) const {
    Question question{pipeline_program, cell.run, pipeline_run(cell.run, cell.changes, schedule, folder_), "", {},
                      {cell.plan.id}};
    question.options = {"--world", std::to_string(world)};
    if (sweep_.file.mixed_gpus) question.options.emplace_back("--mixed-gpus");
    return question;
  }
  void add(Question question) {
    if (sweep_.file.device != "cpu") question.options.insert(question.options.end(), {"--device", sweep_.file.device});
    const auto same = std::ranges::find_if(all, [&](const Question& each) {
      return each.program == question.program && each.text == question.text && each.options == question.options &&
             each.accumulation == question.accumulation;
    });
    if (same == all.end()) {
      all.push_back(std::move(question));
    } else if (std::ranges::find(same->ids, question.ids.front()) == same->ids.end()) {
      same->ids.push_back(question.ids.front());
    }
  }

  const PreparedSweep& sweep_;
  fs::path folder_;
};

/// The trainer's answer, or its message and exit code.
std::optional<RefusedRun> refusal(const Question& question, const fs::path& folder, const LaunchFinding& finding) {
  RefusedRun refused;
  refused.ids = question.ids;
  try {
    const Json answer = read_json(folder / "stdout.txt");
    refused.exit_code = answer.at("exit_code").get<int>();
    if (refused.exit_code == 0) return std::nullopt;
    refused.words = answer.at("message").get<std::string>();
  } catch (const std::exception&) {
    if (finding.timed_out)
      throw SystemError(question.program + " --check: gave no answer for " + question.run.string());
    refused.exit_code = finding.exit_code;
    if (refused.exit_code == 0) return std::nullopt;
    refused.words = last_words(folder / "stderr.txt", question.program);
  }
  refused.words = with_original(refused.words, folder / "run.toml", question.run);
  return refused;
}

}  // namespace

Preflight ask_trainers(const PreparedSweep& sweep, const fs::path& trainers, std::int64_t at_once) {
  Preflight preflight;
  if (sweep.file.commands) return preflight;
  StopSignals signals;  // must precede the start of threads
  const ScratchFolder scratch;
  const fs::path place = scratch.path();
  const std::vector<Question> questions = Questions(sweep, place).all;
  std::vector<std::optional<RefusedRun>> answers(questions.size());
  std::vector<SlottedRun> runs;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto ask = [&, i](const std::vector<std::int64_t>&) {
      const Question& question = questions[i];
      const fs::path folder = place / std::to_string(i);
      make_folder(folder);
      write_file(folder / "run.toml", question.text);
      Launch launch;
      launch.command = {(trainers / question.program).string(), (folder / "run.toml").string(), "--check", "--json"};
      launch.command.insert(launch.command.end(), question.options.begin(), question.options.end());
      if (!question.accumulation.empty()) {
        write_file(folder / "accumulation.csv", question.accumulation);
        launch.command.insert(launch.command.end(), {"--accumulation", (folder / "accumulation.csv").string()});
      }
      launch.folder = folder;
      launch.speaker = question.program;
      const LaunchFinding finding = plumbline::launch(launch, signals);
      if (finding.interrupted) throw SystemError(finding.words + " while the trainers checked the runs");
      answers[i] = refusal(question, folder, finding);
    };
    runs.push_back({1, [] {}, ask, [] {}});
  }
  run_side_by_side(runs, at_once, [] {});
  preflight.asked = questions.size();
  for (auto& answer : answers) {
    if (answer) preflight.refused.push_back(std::move(*answer));
  }
  return preflight;
}

}  // namespace plumbline
