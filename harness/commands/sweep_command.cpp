// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/doctor.hpp"
#include "harness/judge/judge.hpp"
#include "harness/sweep/judge_again.hpp"
#include "harness/sweep/merge_sweeps.hpp"
#include "harness/sweep/prepared_sweep.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_size.hpp"
#include "harness/sweep/sweep.hpp"
#include "reports/failing_cells.hpp"
#include "reports/headline.hpp"
#include "reports/report.hpp"
#include "reports/words.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/folder_lock.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "support/visible_gpus.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

SweepServices services() {
  return {judge_cell, write_reports, judge_reference, hash_hex(read_file("/proc/self/exe", most_by_program))};
}

/// The last lines of a sweep: the verdict, gaps of its data coverage, the path of the page.
void say(const Verdict& verdict, const fs::path& folder) {
  std::string line = headline(verdict);
  const std::string word = verdict_word(verdict);
  std::transform(word.begin(), std::ranges::find(word, ','), line.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  if (!verdict.not_applicable.empty()) line += " (" + ran_words(verdict) + ")";
  std::string text = line + "\n" + claim(verdict) + "\n" + failing_cells(verdict, line_width(stdout));
  for (const auto& reference : verdict.references) {
    for (const auto& check : reference.checks) {
      if (!is_blocking(check)) continue;
      text += "reference " + reference.id + ", " + check.name + " " + outcome_words(check.outcome) + ": " +
              check.reason + "\n";
    }
  }
  constexpr std::size_t most_lines = 8;  // the page has them all
  const auto left = not_run_lines(verdict);
  for (std::size_t i = 0; i < std::min(left.size(), most_lines); ++i) text += left[i] + "\n";
  if (left.size() > most_lines) text += "not run: " + std::to_string(left.size() - most_lines) + " more\n";
  if (const std::string gaps = data_gaps(verdict); !gaps.empty()) text += "not required: " + gaps + "\n";
  print_text(text + "report: " + (folder / "report.html").string() + "\n");
}

/// "2/3". Throws InputError for anything else.
Shard shard_of(const std::string& text) {
  const auto slash = text.find('/');
  const auto number = parse_integer(text.substr(0, slash));
  const auto of = slash == std::string::npos ? std::nullopt : parse_integer(text.substr(slash + 1));
  if (!number || !of || *of < 1 || *of > 100000 || *number < 1 || *number > *of)
    throw InputError("--shard " + text + ": give i/n, the part and how many there are: 1/3, 2/3 and 3/3");
  return {*number, *of};
}

int ended_with(const Verdict& verdict) {
  return static_cast<int>(verdict.holds ? ExitCode::holds : ExitCode::does_not_hold);
}

/// Prints the runs that the trainers would refuse, and why. Returns exit code 2 for the user's input, else 3.
int ask_about_runs(const PreparedSweep& prepared, const SweepOptions& options) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const Preflight preflight =
      ask_trainers(prepared, options.trainers, std::max({options.jobs, cores, std::int64_t{1}}));
  ExitCode code = ExitCode::holds;
  for (const auto& run : preflight.refused) {
    print_text("plumbline: would be refused with exit code " + std::to_string(run.exit_code) + ": " +
                   join(run.ids, ", ") + ": " + run.words + "\n",
               stderr);
    const bool bad_input = code == ExitCode::bad_input || run.exit_code == static_cast<int>(ExitCode::bad_input);
    code = bad_input ? ExitCode::bad_input : ExitCode::harness_failure;
  }
  print_text("plumbline: checked: the sweep file, schedules, models and programs, and each of " +
                 std::to_string(preflight.requested) + " different runs by its trainer (--check)\n",
             stderr);
  return static_cast<int>(code);
}

int list_cells(const SweepOptions& options) {
  if (std::getenv("PLUMBLINE_COMPLETING") != nullptr) {  // at once: a shell waits
    for (const auto& cell : make_plan(read_sweep_file(options.sweep_file)).cells) std::cout << cell.plan.id << "\n";
    return static_cast<int>(ExitCode::holds);
  }
  const PreparedSweep prepared = prepare_sweep(options);
  for (const auto& cell : prepared.plan.cells) std::cout << cell.plan.id << "\n";
  std::cout.flush();
  if (const auto estimate = disk_estimate(prepared.file, prepared.plan))
    print_text("plumbline: it will take " + disk_text(*estimate, prepared.folder) + "\n", stderr);
  if (prepared.file.commands) {
    print_text(
        "plumbline: checked: the sweep file, its placeholders, values and programs. Only the commands know what "
        "their arguments mean\n",
        stderr);
    return static_cast<int>(ExitCode::holds);
  }
  return ask_about_runs(prepared, options);
}

int sweep(const SweepOptions& options) {
  const auto [folder, verdict] = run_sweep(options, services(), stderr);
  say(verdict, folder);
  return ended_with(verdict);
}

/// Removes the previous sweep. Other contents are kept, and the sweep refuses the folder.
void remove_earlier_sweep(const fs::path& folder) {
  if (!path_exists(folder / "sweep.json")) return;
  const FolderLock lock(folder);
  fs::remove_all(folder);
}

/// Runs as a test of CTest: on the GPUs that it assigned, in a new folder, with measurements in its format.
int sweep_as_test(const SweepOptions& options, std::int64_t gpus) {
  constexpr int skipped = 77;
  take_assigned_gpus();
  if (gpus > 0) {
    const GpuCount here = count_gpus(options.trainers);
    if (std::cmp_less(here.count, gpus)) {
      std::printf("skipped because it needs %lld GPUs, and %zu may be used here%s%s\n", static_cast<long long>(gpus),
                  here.count, here.why_none.empty() ? "" : ": ", here.why_none.c_str());
      return skipped;
    }
  }
  remove_earlier_sweep(*options.out);
  const int code = sweep(options);
  std::fputs(read_file(*options.out / "ctest.txt", most_by_program).c_str(), stdout);
  return code;
}

int judge(const fs::path& folder, const Json& harness) {
  const Verdict verdict = judge_again(folder, services(), harness, stderr);
  print_text("rejudged from the records; nothing was run\n");
  say(verdict, folder);
  return ended_with(verdict);
}

}  // namespace

std::function<int()> add_sweep_command(CLI::App& app, const std::string& program, const fs::path& trainers,
                                       const Json& harness) {
  struct Given {
    SweepOptions options;
    bool list = false, as_test = false;
    std::int64_t gpus = 0;
  };
  const auto given = std::make_shared<Given>();
  SweepOptions& options = given->options;
  options.program = program;
  options.trainers = trainers;
  options.harness = harness;
  auto* command = app.add_subcommand("sweep", "Run the reference and the pipeline over a matrix, judge, report");
  command->add_option("SWEEP.toml", options.sweep_file, "The matrix: models, schedules, world sizes")->required();
  auto* out =
      command->add_option("--out", options.out, "Folder for the results (default: reports/runs/<date>-<time>-<name>)")
          ->type_name("DIR");
  auto* resume = command->add_flag("--resume", options.resume, "Continue the sweep in --out: finished cases are kept");
  command->add_flag("--again", options.again, "With --resume: rerun cases that do not hold")->needs(resume);
  auto* cells =
      command
          ->add_option(
              "--cells", options.cells,
              "Run only these cases: ids, or patterns with * and ? in quotes; commas between several, or given again")
          ->type_name("PATTERNS")
          ->allow_extra_args(false);  // one value per option, because the next argument may be the sweep file
  offer(cells, {"$(PLUMBLINE_COMPLETING=1 plumbline \"${typed[@]}\" --list 2>/dev/null)"});
  auto* list =
      command->add_flag("--list", given->list,
                        "Print the cases' ids, let the trainers check each run, and train nothing; exits as the "
                        "sweep would");
  command
      ->add_option("--jobs", options.jobs,
                   "Slots (cores or GPUs) for parallel runs; a run takes one for each of its ranks")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}))
      ->capture_default_str();
  command
      ->add_option_function<std::string>(
          "--shard", [given](const std::string& text) { given->options.shard = shard_of(text); },
          "Run every n-th case from the i-th on; plumbline merge combines the n folders")
      ->type_name("I/N");
  command->add_flag("--fail-fast", options.fail_fast, "Start no further case after one that does not hold");
  command
      ->add_option_function<std::string>(
          "--keep", [given](const std::string& what) { given->options.keep_failures = what == "failures"; },
          "Which records to keep. failures: after the report, delete the records of cases that hold (default: all)")
      ->check(one_of({"all", "failures"}));
  auto* as_test =
      command
          ->add_option_function<fs::path>(
              "--ctest", [given](const fs::path& folder) { given->options.out = folder, given->as_test = true; },
              "Run as a CTest test (plumbline_add_sweep_test): use the GPUs that CTest assigned, replace the "
              "sweep in this folder, and print measurements")
          ->type_name("DIR")
          ->excludes(out)
          ->excludes(resume)
          ->excludes(list);
  command->add_option("--gpus", given->gpus, "With --ctest: skip the test (exit code 77) if fewer GPUs are available")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}))
      ->needs(as_test);
  const auto* other_trainers = command->add_option("--trainers", options.trainers, trainers_help())->type_name("DIR");
  command->footer(help_end({"plumbline sweep fixtures/sweeps/default.toml --out out",
                            "plumbline sweep fixtures/sweeps/default.toml --cells 'stories260k-*-w4,*-zb-v-w2'"},
                           {.zero = "holds, or holds in part", .one = "a case does not hold, or is unstable"}));
  return [given, other_trainers] {
    given->options.other_trainers = other_trainers->count() > 0;
    if (given->as_test) return sweep_as_test(given->options, given->gpus);
    return given->list ? list_cells(given->options) : sweep(given->options);
  };
}

std::function<int()> add_merge_command(CLI::App& app, const Json& harness) {
  struct Given {
    std::vector<fs::path> parts;
    fs::path out;
  };
  const auto given = std::make_shared<Given>();
  auto* command = app.add_subcommand("merge", "Combine the shards of a sweep into one verdict");
  command->add_option("SHARD", given->parts, "Folders of the shards")->type_name("DIR")->required();
  command->add_option("--out", given->out, "New folder for the combined sweep")->type_name("DIR")->required();
  command->footer(help_end({"plumbline merge shard-1 shard-2 --out whole"}, {.zero = "holds", .one = "does not hold"}));
  return [given, harness] {
    const auto missing = merge_sweeps(given->parts, given->out);
    if (!missing.empty()) print_text("in no shard: " + join(missing, ", ") + "\n");
    return judge(given->out, harness);
  };
}

std::function<int()> add_judge_command(CLI::App& app, const Json& harness) {
  const auto folder = std::make_shared<fs::path>();
  auto* command =
      app.add_subcommand("judge", "Rejudge a sweep's records without running anything, and rewrite its report");
  command->add_option("SWEEP_DIR", *folder, "A sweep's folder, with its records and its sweep.json")
      ->type_name("DIR")
      ->required();
  command->footer(help_end({"plumbline judge reports/runs/latest"}, {.zero = "holds", .one = "does not hold"}));
  return [folder, harness] { return judge(*folder, harness); };
}

}  // namespace plumbline
