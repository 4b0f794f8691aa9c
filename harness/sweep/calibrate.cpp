// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/judge/limits/value_comparison.hpp"
#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_variant.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_progress.hpp"
#include "record/json_keys.hpp"
#include "record/precision.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/folder_lock.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {

using namespace judging;

namespace {

namespace fs = std::filesystem;

const std::string schema = "plumbline-calibrating/1";

Json to_json(const std::map<Item, ItemError>& errors) {
  Json list = Json::array();
  for (const auto& [item, error] : errors) list.push_back({item.step, item.name, error.error, error.truth_zero});
  return list;
}

std::map<Item, ItemError> errors_from(const fs::path& path) {
  std::map<Item, ItemError> errors;
  try {
    for (const Json& each : read_json(path)) {
      errors[{each.at(0).get<std::int64_t>(), each.at(1).get<std::string>()}] = {each.at(2).get<double>(),
                                                                                 each.at(3).get<bool>()};
    }
  } catch (const Json::exception&) {
    throw InputError(path.string() + ": was not written by this program; remove it to run it again");
  }
  return errors;
}

/// The reference's initial parameters, the start of candidates.
fs::path start_of(const fs::path& folder) {
  return folder / "reference" / "rank-0" / "dumps" / "step-initial.safetensors";
}

double largest(const std::map<Item, ItemError>& errors) {
  double most = 0;
  for (const auto& [item, error] : errors) most = std::max(most, error.error);
  return most;
}

RunChanges dumped(RunChanges changes, const std::optional<fs::path>& weights = std::nullopt) {
  changes.level = "dump";
  changes.weights = weights;
  return changes;
}

class Calibrating {
 public:
  Calibrating(const CalibrateOptions& options, const RunFacts& facts, StopSignals& signals, std::FILE* log)
      : options_(options),
        config_(facts.config),
        signals_(signals),
        run_(reference_run(options.run_file, dumped(options.changes), options.folder)),
        commands_(file_, options.trainers),
        runs_(static_cast<std::size_t>(options.null_runs) + 2),
        progress_(log, runs_, static_cast<double>(runs_)) {
    open_folder();
  }

  Calibration run() {
    const Record reference = finished("reference", {});
    const Record shadow = finished("shadow", {"--shadow"});
    write_file(folder() / "candidate.toml",
               candidate_run(options_.run_file, dumped(options_.changes, start_of(folder())), folder()));
    const auto own = measure_errors(reference, shadow);
    std::vector<std::map<Item, ItemError>> null;
    for (std::int64_t number = 1; number <= options_.null_runs; ++number) null.push_back(perturbed(number, shadow));

    Calibration calibration = make_calibration(own, null, reference.manifest.dtype);
    calibration.reference_run_id = reference.manifest.run_id;
    calibration.shadow_run_id = shadow.manifest.run_id;
    calibration.shadow = shadow.path;
    write_calibration(folder() / "calibration.json", calibration);
    return calibration;
  }

 private:
  const fs::path& folder() const { return options_.folder; }

  /// Everything that determines the results, except the number of perturbed runs, which can grow.
  std::string fingerprint() const {
    return hash_hex(read_file(options_.trainers / reference_program, most_by_program) + run_ + options_.device +
                    (path_exists(config_) ? read_file(config_) : "") +
                    (options_.accumulation ? read_file(*options_.accumulation, most_by_program) : ""));
  }

  void open_folder() {
    const fs::path mark = folder() / "calibrating.json";
    was_there_ = path_exists(folder());
    if (options_.resume && !path_exists(mark)) {
      throw InputError(folder().string() + ": does not contain a calibration to resume; omit --resume to start one");
    }
    if (!options_.resume && was_there_ && (!folder_exists(folder()) || !fs::is_empty(folder()))) {
      throw InputError(fmt::format("{}: already exists; {}choose another --record. Nothing was overwritten.",
                                   folder().string(),
                                   path_exists(mark) ? "add --resume to continue the calibration in it, or " : ""));
    }
    const std::string print = fingerprint();
    make_folder(folder());
    lock_.emplace(folder());
    if (!options_.resume) return write_json(mark, {{"schema", schema}, {"fingerprint", print}});
    const Json json = read_json(mark);
    const JsonKeys kept(mark, json);
    if (kept.text("schema") != schema || kept.text("fingerprint") != print) {
      throw InputError(folder().string() +
                       ": contains another calibration: the run file, model, trainer, device or order changed since; "
                       "choose another --record. Nothing was overwritten.");
    }
  }

  Record finished(const std::string& name, const std::vector<std::string>& arguments) {
    const fs::path record = folder() / name;
    if (kept(folder() / "launches" / name / "finding.json")) {
      progress_.skip(1);
      ++ended_;
    } else {
      const double seconds = start(name, record, arguments);
      say(name, seconds, "");
    }
    return read_record(record);
  }

  static bool kept(const fs::path& finding) {
    return path_exists(finding) && read_launch_finding(finding).exit_code == 0;
  }

  std::map<Item, ItemError> perturbed(std::int64_t number, const Record& shadow) {
    const fs::path errors_file = folder() / "null" / (std::to_string(number) + ".json");
    if (path_exists(errors_file)) {
      progress_.skip(1);
      ++ended_;
      return errors_from(errors_file);
    }
    const std::string name = "null-" + std::to_string(number);
    const fs::path record = folder() / "null" / std::to_string(number);
    const double seconds = start(name, record, {"--perturb", std::to_string(number)});
    const auto errors = measure_errors(read_record(record), shadow);
    write_json(errors_file, to_json(errors));
    std::error_code ignored;
    fs::remove_all(record, ignored);  // its dumps are large and not needed anymore
    say(name, seconds, "largest error " + short_text(largest(errors)));
    return errors;
  }

  /// Runs to the end; returns the seconds.
  double start(const std::string& name, const fs::path& record, const std::vector<std::string>& arguments) {
    if (signals_.stop_requested()) throw stopped(std::string("stopped by ") + signals_.name() + " before " + name);
    const fs::path place = folder() / "launches" / name;
    make_way(record, place, {});
    write_file(folder() / "run.toml", run_);
    PlannedCommand command = commands_.reference("");
    command.files.clear();  // all runs share one run file
    command.values["run"] = (folder() / "run.toml").string();
    command.words.emplace_back("--quiet");
    command.words.insert(command.words.end(), arguments.begin(), arguments.end());
    if (name != "shadow") command.words.insert(command.words.end(), {"--device", options_.device});
    if (options_.accumulation) {
      command.values["order"] = options_.accumulation->string();
      command.words.insert(command.words.end(), {"--accumulation", "{order}"});
    }
    Launch launch = commands_.launch(command, place, record);
    launch.time_limit = std::chrono::hours(24);  // effectively unlimited; Ctrl-C ends it at any time
    launch.at_glance = [this] { progress_.tick(); };
    progress_.begin(name, 1);
    const LaunchFinding finding = plumbline::launch(launch, signals_);
    progress_.end();
    if (finding.interrupted) throw stopped(finding.words + " while " + name + " ran");
    if (finding.exit_code != 0) fail(name, finding);
    write_json(place / "finding.json", to_json(finding));
    return finding.seconds;
  }

  SystemError stopped(const std::string& why) const {
    return SystemError(fmt::format("{}. {} of {} runs of the calibration are finished and kept{}", why, ended_, runs_,
                                   options_.resume_words.empty()
                                       ? fmt::format("; continue with --record {} --resume", folder().string())
                                       : options_.resume_words));
  }

  [[noreturn]] void fail(const std::string& name, const LaunchFinding& finding) {
    const std::string error_line = last_error_line(folder() / "launches" / name / "stderr.txt", reference_program);
    const std::string words =
        fmt::format("{}, {}: {}", options_.run_file.string(), name, error_line.empty() ? finding.words : error_line);
    if (finding.exit_code == static_cast<int>(ExitCode::bad_input)) {
      if (ended_ == 0) release_folder(folder(), was_there_);  // for the corrected run file
      throw InputError(words);
    }
    if (finding.exit_code == static_cast<int>(ExitCode::harness_failure)) throw SystemError(words);
    throw RunError(words);
  }

  void say(const std::string& name, double seconds, const std::string& what) {
    progress_.line(fmt::format("[{}/{}] {}{}  {:.1f} s  {}", ++ended_, runs_, options_.label, name, seconds, what));
  }

  const CalibrateOptions& options_;
  fs::path config_;
  const SweepFile file_ = {};
  StopSignals& signals_;
  bool was_there_ = false;  ///< the folder existed and was empty
  std::string run_;
  RunCommands commands_;
  std::size_t runs_, ended_ = 0;
  SweepProgress progress_;
  std::optional<FolderLock> lock_;
};

}  // namespace

void start_from_calibration(PlannedCell& cell, const fs::path& folder) {
  cell.plan.calibration = folder / "calibration.json";
  cell.changes.weights = start_of(folder);
}

Calibration calibrate(const CalibrateOptions& options, StopSignals& signals, std::FILE* log) {
  if (options.null_runs < static_cast<std::int64_t>(least_null_runs)) {
    throw InputError(
        fmt::format("--null {}: needs at least {} perturbed runs to measure the effect of equivalent changes",
                    options.null_runs, least_null_runs));
  }
  find_program((options.trainers / reference_program).string());
  const RunFacts facts = read_run_facts(options.run_file, options.changes);
  if (facts.dtype == mixed_precision) {
    throw InputError(options.run_file.string() +
                     ", key train.precision: a float64 reference of mixed precision does not exist; compare without "
                     "limits (tier = \"bits\")");
  }
  if (facts.dtype == "float64") {
    throw InputError(
        options.run_file.string() +
        ", key train.dtype: float64 would be its own float64 reference; compare without limits (tier = \"bits\")");
  }
  return Calibrating(options, facts, signals, log).run();
}

bool null_runs_hold(const Calibration& calibration) {
  return std::ranges::all_of(calibration.limits,
                             [](const auto& each) { return each.second.null_most <= each.second.limit; });
}

std::string calibration_text(const Calibration& calibration, const fs::path& folder) {
  std::int64_t at_ceiling = 0, beyond = 0;
  double own = 0, null = 0;
  for (const auto& [item, limit] : calibration.limits) {
    if (limit.by == LimitBy::ceiling) ++at_ceiling;
    if (!(limit.null_most <= limit.limit)) ++beyond;
    own = std::max(own, limit.own);
    null = std::max(null, limit.null_most);
  }
  const bool noise = calibration.left_out > other_kernels;
  std::string text = fmt::format(
      "{} limits from the reference and {} perturbed references in {}\nlargest error: reference {}, perturbed {}\n"
      "factor {}: 2 x {}",
      calibration.limits.size(), calibration.null_runs, calibration.dtype, short_text(own), short_text(null),
      short_text(calibration.factor), short_text(noise ? calibration.left_out : other_kernels));
  text += noise ? ", by which one perturbed run exceeded all others\n"
                : fmt::format(", the allowance for other kernels; one perturbed run went {} x beyond all the others\n",
                              short_text(calibration.left_out));
  if (at_ceiling > 0)
    text += fmt::format(
        "{} limits are {}, the largest possible: this run amplifies rounding so much that they detect little\n",
        at_ceiling, short_text(limit_ceiling));
  if (beyond > 0)
    text += fmt::format(
        "DOES NOT HOLD: for {} items perturbed runs exceed the largest possible limit: this run amplifies rounding too "
        "much\n",
        beyond);
  return text + fmt::format(
                    "next: run the candidate with {0}/candidate.toml, then\n  plumbline compare {0}/reference "
                    "CANDIDATE --calibration {0}/calibration.json\n",
                    (folder / "").parent_path().string());
}

}  // namespace plumbline
