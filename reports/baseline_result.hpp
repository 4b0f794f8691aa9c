// SPDX-License-Identifier: BSD-3-Clause
// The comparison with a baseline that `plumbline baseline compare` wrote into the sweep's folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

struct BaselineResult {
  struct Change {
    std::string kind, where, words;
  };
  struct Difference {
    std::string key, before, now;
  };
  std::string name = {}, commit_before = {}, commit_now = {};
  bool holds = false;
  std::string compared = {};                 ///< "145 runs, 706 losses"; empty if nothing was
  std::vector<Change> changes = {};          ///< in the file's order
  std::vector<Difference> environment = {};  ///< possible causes of changes other than the source
  std::vector<std::string> not_compared = {}, allowed = {};
  std::vector<std::string> red = {};  ///< cases that do not hold now, and why
  std::string reason = {};            ///< why the kinds in `allowed` may change
};

/// As `plumbline baseline compare --json` prints it. Throws nlohmann's exceptions for anything else.
BaselineResult baseline_result_from(const Json& json);

/// Reads <folder>/baseline.json; nullopt if there is none. Throws InputError naming file and key.
std::optional<BaselineResult> read_baseline_result(const std::filesystem::path& folder);

}  // namespace plumbline
