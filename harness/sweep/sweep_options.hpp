// SPDX-License-Identifier: BSD-3-Clause
// What `plumbline sweep` was asked for on its command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// Part `number` of `of`, from 1.
struct Shard {
  std::int64_t number = 1, of = 1;
};

struct SweepOptions {
  std::filesystem::path sweep_file;
  std::optional<std::filesystem::path>
      out;                     ///< default: reports/runs/<date>-<time>-<name>, which `latest` then points to
  bool resume = false;         ///< go on with the sweep that `out` holds
  bool again = false;          ///< with `resume`: run finished cells that do not hold once more
  bool keep_dumps = false;     ///< also those of cells that the key audit added, once they hold
  bool keep_failures = false;  ///< records of cells that hold go at the end
  std::int64_t jobs = 1;       ///< slots for runs side by side: cores or GPUs
  std::optional<Shard> shard = {};
  std::vector<std::string> cells;     ///< ids and patterns (cell_patterns.hpp); empty = all
  std::filesystem::path trainers;     ///< folder that holds plumbline-reference and plumbline-pipeline
  bool other_trainers = false;        ///< `trainers` is not the folder that a command without --trainers takes
  std::string program = "plumbline";  ///< as the user calls it, for the commands in the verdict
  std::string judge = "";  ///< XXH3-128 of the program that judges: finished cells are judged again by another
  Json harness = nullptr;  ///< version and commit of the program, for the verdict
};

}  // namespace plumbline
