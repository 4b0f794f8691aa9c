// SPDX-License-Identifier: BSD-3-Clause
// Command-line options of `plumbline sweep`, and the command lines with them that it prints for users: each works as
// printed, in the same working folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// Shard `number` of `of`, from 1.
struct Shard {
  std::int64_t number = 1, of = 1;
};

struct SweepOptions {
  std::filesystem::path sweep_file;
  std::optional<std::filesystem::path> out;  ///< default: reports/runs/<date>-<time>-<name>, and `latest` points to it
  bool resume = false;                       ///< resume the sweep in `out`
  bool again = false;                        ///< with `resume`: run finished cases that do not hold again
  bool fail_fast = false;                    ///< start no case after one that does not hold
  bool keep_failures = false;                ///< remove records of passing cases at the end
  std::int64_t jobs = 1;                     ///< slots of parallel jobs: cores or GPUs
  std::optional<Shard> shard = {};
  std::vector<std::string> cells;     ///< ids and patterns (cell_patterns.hpp); empty = all
  std::filesystem::path trainers;     ///< folder of plumbline-reference and plumbline-pipeline
  bool other_trainers = false;        ///< `trainers` is not the default folder
  std::string program = "plumbline";  ///< the program as the user calls it, for the commands in the verdict
  Json harness = nullptr;             ///< version and commit of the program, for the verdict
};

/// Repeats one case of this sweep, in a separate folder.
std::string command_of_cell(const SweepOptions& options, const std::string& cell);

/// Resumes the sweep in `folder` with all its options.
std::string resume_command(const SweepOptions& options, const std::filesystem::path& folder);

}  // namespace plumbline
