// SPDX-License-Identifier: BSD-3-Clause
// Sweeps that run: fake launcher, trainers and judge are shell scripts of the cases in tests/approved/sessions
// (tests/approved/README.md explains them).
#include <CLI/CLI.hpp>
#include <mutex>

#include "harness/sweep/merge_sweeps.hpp"
#include "harness/sweep/prepared_sweep.hpp"
#include "reports/headline.hpp"
#include "support/shell.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/harness/sweep/run_sweep.hpp"
#include "tests/session.hpp"

namespace plumbline::testing {
namespace {

/// The lines that `script` prints with these variables. Throws what its exit code stands for.
std::vector<std::string> lines_of_script(const fs::path& script, const std::map<std::string, std::string>& variables) {
  std::string line;
  for (const auto& [name, value] : variables) line += name + "=" + shell_word(value) + " ";
  line += "bash " + script.string() + " 2>&1";
  std::FILE* out = popen(line.c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(out)) != EOF;) text += static_cast<char>(c);
  const int code = WEXITSTATUS(pclose(out));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (code == 2) throw InputError(text);
  if (code != 0) throw SystemError(text);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string each; std::getline(stream, each);) lines.push_back(each);
  return lines;
}

/// "CHECK OUTCOME [from=STEP] REASON".
CheckResult check_of_line(const std::string& line) {
  std::istringstream stream(line);
  CheckResult check;
  std::string outcome;
  stream >> check.name >> outcome >> std::ws;
  for (const Outcome each : {Outcome::holds, Outcome::differs, Outcome::incomplete, Outcome::does_not_apply})
    if (to_text(each) == outcome) check.outcome = each;
  std::getline(stream, check.reason);
  if (check.reason.starts_with("from=")) {
    check.from_step = check.reason[5] - '0';
    check.reason.erase(0, 7);
  }
  return check;
}

class SweepSession : public Session {
 public:
  SweepSession() {
    add("plumbline", [this](const Words& words) { return plumbline(words); });
  }

 private:
  void start(const std::string& word) override {
    if (word == "ours") {
      folder_.file("config.json", R"({"num_hidden_layers": 2})");
      folder_.file("text.txt", "to be or not to be");
      const std::string run = "[model]\nconfig = \"config.json\"\n[data]\ntext = \"text.txt\"\n";
      folder_.file("a.toml", run + "lengths = [4, 8]\n");
      folder_.file("b.toml", run + "lengths = [4, 9]\n");
      for (const char* each : {"plumbline-reference", "plumbline-pipeline"}) program(folder_, each, trainer);
      program(folder_, "fake-mpirun", fake_mpirun());
      folder_.file("launcher", "launcher = \"./fake-mpirun -n {world}\"\n");
      folder_.file("s.toml",
                   "launcher = \"./fake-mpirun -n {world}\"\nrun = [\"a.toml\", \"b.toml\"]\n"
                   "world_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
    } else if (word == "theirs") {
      program(folder_, "train.sh", "world=$1 record=$2 how=$3\necho \"$world $how $GREETING\" >> calls\n. ./do-$how\n");
      write_run(synthetic_reference({}), folder_ / "prepared/w1");
      write_run(synthetic_candidate({}), folder_ / "prepared/w2");
      forget_processes(folder_ / "prepared");
      folder_.file("do-right", "cp -r prepared/w$world $record\n");
      folder_.file("theirs", R"(reference = ["./train.sh", "{world}", "{record}", "right"]
candidate = ["./train.sh", "{world}", "{record}", "{how}"]
)");
      folder_.file("s.toml", bytes_of(folder_ / "theirs") +
                                 "world_sizes = [2]\nschedules = [\"1f1b\"]\nvalues = { how = \"right\" }\n");
      real_judge_ = true;
    }
  }

  int plumbline(const Words& words) {
    CLI::App app;
    SweepOptions options;
    options.trainers = folder_.path();
    std::vector<std::string> arguments, shard;
    std::string out, keep;
    app.add_option("arguments", arguments);
    app.add_option("--out", out);
    app.add_flag("--resume", options.resume);
    app.add_flag("--again", options.again);
    app.add_flag("--fail-fast", options.fail_fast);
    app.add_option("--keep", keep);
    app.add_option("--jobs", options.jobs);
    app.add_option("--shard", shard)->delimiter('/');
    app.add_option("--cells", options.cells)->allow_extra_args(false);
    app.parse(Words(words.rbegin(), words.rend() - 1));
    if (!out.empty()) options.out = folder_ / out;
    options.keep_failures = keep == "failures";
    if (!shard.empty()) options.shard = Shard{std::stoll(shard.at(0)), std::stoll(shard.at(1))};
    const std::string command = arguments.at(0);
    arguments.erase(arguments.begin());
    if (command == "judge") return say(judge_again(folder_ / arguments.at(0), services(), {{"version", "1"}}, stderr));
    if (command == "merge") return merge({arguments.begin(), arguments.end()}, folder_ / out);
    options.sweep_file = arguments.at(0);
    if (command == "list") return list(options);
    if (command == "check") return check(options);
    const SweepResult result = run_sweep(options, services(), stderr);
    if (out.empty()) std::printf("in %s\n", fs::relative(result.folder).parent_path().c_str());
    return say(result.verdict);
  }

  static int say(const Verdict& verdict) {
    std::string text = headline(verdict) + "\n";
    for (const std::string& line : not_run_lines(verdict)) text += line + "\n";
    for (const CellVerdict& cell : verdict.cells)
      if (cell.second_run) text += cell.id + " second run: " + cell.second_run->words + "\n";
    std::printf("%s", text.c_str());
    return verdict.holds ? 0 : 1;
  }

  int merge(const std::vector<fs::path>& parts, const fs::path& out) const {
    for (const std::string& id : merge_sweeps(parts, out)) std::printf("in no shard: %s\n", id.c_str());
    return 0;
  }

  static int list(const SweepOptions& options) {
    const PreparedSweep prepared = prepare_sweep(options);
    for (const PlannedCell& cell : prepared.plan.cells) std::printf("%s\n", cell.plan.id.c_str());
    std::printf("of %s\n", join(prepared.all_cells, " ").c_str());
    return 0;
  }

  static int check(const SweepOptions& options) {
    const Preflight answers = ask_trainers(prepare_sweep(options), options.trainers, 2);
    std::printf("%zu runs\n", answers.requested);
    for (const RefusedRun& run : answers.refused)
      std::printf("%s would be refused with %d: %s\n", join(run.ids, ", ").c_str(), run.exit_code, run.words.c_str());
    return 0;
  }

  SweepServices services() {
    SweepServices services;
    const auto has = [this](const char* script) { return fs::exists(folder_ / script); };
    services.judge = judge_cell;
    if (!real_judge_ || has("judge")) {
      services.judge = [this](const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                              const std::optional<fs::path>& repeated) {
        return judged(plan, reference, candidate, repeated);
      };
    }
    services.version = bytes_of(folder_ / "version");
    services.write_reports = [this, has](const fs::path&) {
      if (has("report")) lines_of_script(folder_ / "report", {});
    };
    if (has("bench")) {
      services.judge_reference = [this](const fs::path& record, const judging::BenchRequest& request) {
        std::vector<CheckResult> checks;
        for (const std::string& line : lines_of_script(
                 folder_ / "bench", {{"record", record.string()}, {"required", request.required ? "required" : ""}})) {
          checks.push_back(check_of_line(line));
          checks.back().required = request.required;
        }
        return checks;
      };
    }
    return services;
  }

  /// By the script `judge`, whose lines are checks, or "divergence WORDS"; without it, completion is judged.
  CellVerdict judged(const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                     const std::optional<fs::path>& repeated) {
    CellVerdict verdict;
    verdict.id = plan.id;
    verdict.world = plan.world;
    verdict.command = plan.command;
    verdict.reference = plan.reference;
    std::vector<std::string> lines = {"completion " + std::string(plan.launch->exit_code == 0 ? "holds" : "differs") +
                                      " " + plan.launch->words};
    if (fs::exists(folder_ / "judge")) {
      const auto in_out = [&](const fs::path& path) { return path.lexically_relative(folder_.path()).string(); };
      lines = lines_of_script(
          folder_ / "judge",
          {{"id", plan.id},
           {"reference", in_out(reference)},
           {"candidate", in_out(candidate)},
           {"repeated", repeated ? in_out(*repeated) : ""},
           {"asked_twice", plan.repeat ? "yes" : "no"},
           {"calibration", plan.calibration ? in_out(*plan.calibration) : ""},
           {"level", plan.request ? plan.request->level.value_or("") : ""},
           {"reference_level", plan.reference_request ? plan.reference_request->level.value_or("") : ""},
           {"first_step", std::to_string(plan.request ? plan.request->first_step.value_or(0) : 0)},
           {"code", std::to_string(plan.launch->exit_code)},
           {"words", plan.launch->words},
           {"reference_code", std::to_string(plan.reference_launch->exit_code)},
           {"repeat_code", plan.repeat_launch ? std::to_string(plan.repeat_launch->exit_code) : ""},
           {"replay", plan.replay_launch ? plan.replay_launch->words : ""}});
    }
    for (const std::string& line : lines) {
      if (line.starts_with("divergence ")) {
        verdict.first_divergence = Finding{};
        verdict.first_divergence->words = line.substr(11);
        continue;
      }
      verdict.checks.push_back(check_of_line(line));
      CheckResult& last = verdict.checks.back();
      last.accepted = last.outcome == Outcome::incomplete && std::ranges::count(plan.accept_missing, last.name) > 0;
    }
    if (verdict.first_divergence) verdict.first_divergence->claim = failing_claims(verdict.checks).at(0);
    verdict.holds = none_blocks(verdict.checks);
    return verdict;
  }

  bool real_judge_ = false;
};

class SweepSessions : public ::testing::TestWithParam<const char*> {};

TEST_P(SweepSessions, AreAsApproved) {
  expect_answers(std::string("sessions/") + GetParam() + ".txt",
                 [](const std::string& lines) { return SweepSession().answer(lines); });
}

INSTANTIATE_TEST_SUITE_P(Sweeps, SweepSessions,
                         ::testing::Values("devices", "failures", "keep", "mesh", "merge", "norms", "refused", "resume",
                                           "resumed-runs", "runs", "second-run", "stopped", "theirs"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace plumbline::testing
