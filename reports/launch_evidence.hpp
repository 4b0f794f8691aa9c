// SPDX-License-Identifier: BSD-3-Clause
// What a launch left beside its record: the command that ran, and the end of what it said.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "record/verdict.hpp"

namespace plumbline {

struct LaunchEvidence {
  std::string command;    ///< as it was executed, quoted for a shell; empty where none was kept
  std::string error_end;  ///< the last lines of its standard error
};

/// By the name of the launch: a cell's id, "reference-<id>".
using LaunchEvidences = std::map<std::string, LaunchEvidence>;

/// Of every reference and cell of the verdict, from <folder>/launches; what is not there stays empty.
LaunchEvidences gather_launches(const std::filesystem::path& folder, const Verdict& verdict);

}  // namespace plumbline
