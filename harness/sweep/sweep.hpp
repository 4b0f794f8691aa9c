// Runs a sweep: references, then cells, each judged when it has ended, and leaves verdict and report.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.hpp"
#include "harness/sweep/sweep_services.hpp"
#include "harness/sweep/sweep_verdict.hpp"

namespace plumbline {

struct SweepOptions {
  std::filesystem::path sweep_file;
  std::optional<std::filesystem::path>
      out;                            ///< default: reports/runs/<date>-<time>-<name>, which `latest` then points to
  bool resume = false;                ///< go on with the sweep that `out` holds
  std::vector<std::string> cells;     ///< ids; empty = all
  std::filesystem::path trainers;     ///< folder that holds plumbline-reference and plumbline-pipeline
  bool other_trainers = false;        ///< `trainers` is not the folder that a command without --trainers takes
  std::string program = "plumbline";  ///< as the user calls it, for the commands in the verdict
  Json harness = nullptr;             ///< version and commit of the program, for the verdict
};

struct SweepResult {
  std::filesystem::path folder;
  Verdict verdict;
};

/// Progress goes to `log`. A cell whose run crashes, hangs or differs does not hold, and the sweep goes on; when all
/// have run, each that does not hold is run once more. Throws, each time after verdict and report of what had finished
/// were written: SystemError for Ctrl-C, a full disk, a launcher that is missing; InputError when a trainer refuses a
/// run file.
SweepResult run_sweep(const SweepOptions& options, const SweepServices& services, std::FILE* log);

}  // namespace plumbline
