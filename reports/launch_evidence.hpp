// SPDX-License-Identifier: BSD-3-Clause
// Files of a launch next to its record: the command, and the end of its output.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "record/verdict.hpp"

namespace plumbline {

struct LaunchEvidence {
  std::string command;    ///< as executed, quoted for a shell; empty if none was kept
  std::string error_end;  ///< the last lines of its standard error
};

/// By the name of the launch: a case's id, "reference-<id>".
using LaunchEvidences = std::map<std::string, LaunchEvidence>;

/// Of every reference and case of the verdict, from <folder>/launches; missing files stay empty.
LaunchEvidences gather_launches(const std::filesystem::path& folder, const Verdict& verdict);

}  // namespace plumbline
