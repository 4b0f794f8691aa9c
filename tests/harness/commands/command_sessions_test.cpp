// SPDX-License-Identifier: BSD-3-Clause
// The commands of `plumbline` as users type them, on records and sweeps that lie ready: tests/approved/commands.
#include <CLI/CLI.hpp>

#include "harness/commands/commands.hpp"
#include "harness/judge/judge.hpp"
#include "harness/sweep/judge_again.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "record/rank_folder.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/approved.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/judge/limits/dumped_run.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/paths.hpp"
#include "tests/session.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class CommandSession : public Session {
 public:
  CommandSession() {
    add("plumbline", [this](const Words& words) { return plumbline(words); });
  }

 private:
  int plumbline(const Words& words) const try {
    CLI::App app;
    const fs::path trainers = folder_ / "trainers";
    const Json harness = {{"version", "1"}};
    const std::map<std::string, std::function<int()>> commands = {
        {"sweep", add_sweep_command(app, "plumbline", trainers, harness)},
        {"compare", add_compare_command(app, harness)},
        {"judge", add_judge_command(app, harness)},
        {"merge", add_merge_command(app, harness)},
        {"report", add_report_command(app)},
        {"doctor", add_doctor_command(app, trainers)},
        {"schedule", add_schedule_command(app)},
        {"calibrate", add_calibrate_command(app, trainers)},
        {"record", add_record_command(app)}};
    app.parse(Words(words.rbegin(), words.rend() - 1));
    return commands.at(app.get_subcommands().at(0)->get_name())();
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }

  void start(const std::string& word) override {
    const std::map<std::string, void (CommandSession::*)()> writers = {{"records", &CommandSession::write_records},
                                                                       {"sweep", &CommandSession::write_sweep},
                                                                       {"sweeps", &CommandSession::write_two_sweeps},
                                                                       {"calibration", &CommandSession::write_trainer},
                                                                       {"machine", &CommandSession::write_machine}};
    (this->*writers.at(word))();
  }

  /// `one` of the reference, `two` of two ranks, and `torch`, a folder of torch's lists.
  void write_records() {
    write_run(synthetic_reference({}), folder_ / "one");
    write_run(synthetic_candidate({}), folder_ / "two");
    fs::create_directory_symlink(fs::path(fixtures_path()) / "schedules", folder_ / "torch");
  }

  /// `out`: a sweep with one case of three, which has run.
  void write_sweep() { write_sweep_of(SyntheticCell(), folder_ / "out"); }

  /// `before` and `out`: the same, run twice.
  void write_two_sweeps() {
    SyntheticCell cell;
    write_sweep_of(cell, folder_ / "before");
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["run_id"] = new_run_id();
      for (auto& rank : run->ranks)
        for (auto& row : rank.steps) row.seconds = 2.5;
    }
    write_sweep_of(cell, folder_ / "out");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(std::fopen("/dev/null", "w"), std::fclose);
    for (const char* sweep : {"before", "out"})
      judge_again(folder_ / sweep, {judge_cell, [](const fs::path&) {}, judge_reference}, {{"version", "1"}},
                  log.get());
  }

  static void write_sweep_of(const SyntheticCell& cell, const fs::path& out) {
    for (const char* kind : {"references", "cells"}) make_folder(out / kind);
    write_run(cell.reference, out / "references/r");
    write_run(cell.candidate, out / "cells/c");
    KeptSweep kept;
    kept.name = "kept";
    kept.selection.of_cells = 3;
    CellPlan plan = cell.plan;
    plan.id = "c";
    plan.reference = "r";
    plan.run = "run";
    plan.model = "model";
    plan.optimizer = "adamw";
    plan.bench = true;
    kept.cells = {plan};
    write_json(out / "sweep.json", {{"schema", "plumbline-sweep/1"},
                                    {"name", kept.name},
                                    {"started", "2026-11-22T00:00:00Z"},
                                    {"plan", to_json(kept)}});
    for (const char* launch : {"reference-r", "c"}) {
      make_folder(out / "launches" / launch);
      write_json(out / "launches" / launch / "finding.json", to_json(LaunchFinding{}));
      write_json(out / "launches" / launch / "request.json", {{"schema", "plumbline-request/1"}, {"seed", 1}});
    }
  }

  /// A reference trainer that leaves records which lie ready, and ends as the file `shadow-code` says as the float64
  /// reference; `within` and `beyond`: errors of 20 perturbed runs.
  void write_trainer() {
    program(folder_, "trainers/plumbline-reference",
            "base=${0%/*}/..\necho \"${@:4}\" >> $base/calls\n"
            "case \" $* \" in *' --shadow '*) of=shadow ;; *) of=reference ;; esac\n"
            "[ $of = shadow ] && [ -s $base/shadow-code ] && { echo 'plumbline-reference: no shadow' >&2; exit $(cat "
            "$base/shadow-code); }\ncp -r $base/$of \"$3\"\n");
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    folder_.file("run.toml", "[model]\nconfig = \"config.json\"\n[train]\nsteps = 2\n");
    const SyntheticPlan plan{.level = "dump"};
    DumpedRun{synthetic_reference(plan), 1}.write(folder_ / "reference");
    DumpedRun{synthetic_reference(plan), 0, true}.write(folder_ / "shadow");
    forget_processes(folder_.path());
    for (const auto& [name, farther] : {std::pair("within", 0), std::pair("beyond", 1)}) {
      Json errors = Json::array();
      for (const auto& [item, error] :
           judging::measure_errors(read_record(folder_ / "reference"), read_record(folder_ / "shadow")))
        errors.push_back({item.step, item.name, error.error + farther, error.truth_zero});
      for (int run = 1; run <= 20; ++run)
        folder_.file(std::string(name) + "/" + std::to_string(run) + ".json", errors.dump());
    }
  }

  /// Trainers, and an mpirun in `path`, the only folder on PATH. They answer with the files `reference` and `pipeline`.
  void write_machine() {
    const std::string answers = "[ \"$1\" = --capabilities ] && { echo \"$(<${0%/*}/../";
    program(folder_, "trainers/plumbline-reference", answers + "reference)\"; exit; }\n");
    program(folder_, "trainers/plumbline-pipeline",
            answers + "pipeline)\"; exit; }\npage $3 $FAKE_RANK 0 -1 ${FAKE_RANK}F0; sleep 0.1\n" +
                "[ -e ${0%/*}/../rank ] && . ${0%/*}/../rank\nended $3 $FAKE_RANK ok 0\n");
    program(folder_, "path/mpirun",
            "export PATH=/usr/bin:/bin\nwhile [ $1 != -n ]; do shift; done; ranks=$2; shift 2\n"
            "for ((r = 0; r < ranks; r++)); do FAKE_RANK=$r \"$@\" & done; wait\n[ ! -e ${0%/*}/../fails ]\n");
    for (const char* each : {"reference", "pipeline"}) folder_.file(each, "{}");
  }
};

class CommandSessions : public ::testing::TestWithParam<const char*> {};

TEST_P(CommandSessions, AreAsApproved) {
  expect_answers(std::string("commands/") + GetParam() + ".txt",
                 [](const std::string& lines) { return CommandSession().answer(lines); });
}

INSTANTIATE_TEST_SUITE_P(Commands, CommandSessions,
                         ::testing::Values("calibrate", "compare", "doctor", "record", "schedule", "sweep", "sweeps"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace plumbline::testing
