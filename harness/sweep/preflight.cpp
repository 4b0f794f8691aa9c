// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/preflight.hpp"

#include <algorithm>
#include <optional>

#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "harness/sweep/parallel_jobs.hpp"
#include "harness/sweep/run_commands.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Question {
  PlannedCommand command;
  fs::path run;  ///< the user's file
  std::vector<std::string> ids;
};

/// Equal runs are asked about once. The texts of run files are for a folder next to `place`.
std::vector<Question> questions_of(const SweepPlan& plan, const RunCommands& commands, const fs::path& place) {
  std::vector<Question> all;
  const auto add = [&](const PlannedCommand& command, const fs::path& run, const std::string& id) {
    const PlannedCommand asked = question_of(command);
    const auto same = std::ranges::find_if(all, [&](const Question& each) {
      const PlannedCommand& known = each.command;
      return known.words == asked.words && known.values == asked.values && known.files == asked.files;
    });
    if (same == all.end()) {
      all.push_back({asked, run, {id}});
    } else if (std::ranges::find(same->ids, id) == same->ids.end()) {
      same->ids.push_back(id);
    }
  };
  for (const auto& reference : plan.references)
    add(commands.of(reference, place), reference.run, "reference-" + reference.id);
  for (const auto& cell : plan.cells) {
    if (cell.resumes_from) add(commands.first_segment_of(cell, place), cell.run, cell.plan.id);
    add(commands.of(cell, place), cell.run, cell.plan.id);
  }
  return all;
}

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
      throw SystemError(question.command.trainer + " --check: gave no answer for " + question.run.string());
    refused.exit_code = finding.exit_code;
    if (refused.exit_code == 0) return std::nullopt;
    refused.words = last_error_line(folder / "stderr.txt", question.command.trainer);
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
  const RunCommands commands(sweep.file, trainers);
  const std::vector<Question> questions = questions_of(sweep.plan, commands, place / "run");
  std::vector<std::optional<RefusedRun>> answers(questions.size());
  std::vector<SlottedRun> runs;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto ask = [&, i](const std::vector<std::int64_t>&) {
      const Question& question = questions[i];
      const fs::path folder = place / std::to_string(i);
      make_folder(folder);
      Launch launch = commands.launch(question.command, folder, {});
      launch.ranks = 0;
      launch.program.clear();
      const LaunchFinding finding = plumbline::launch(launch, signals);
      if (finding.interrupted) throw SystemError(finding.words + " while the trainers checked the runs");
      answers[i] = refusal(question, folder, finding);
    };
    runs.push_back({1, [] {}, ask, [] {}});
  }
  run_parallel_jobs(runs, at_once, [] {});
  preflight.asked = questions.size();
  for (auto& answer : answers) {
    if (answer) preflight.refused.push_back(std::move(*answer));
  }
  return preflight;
}

}  // namespace plumbline
