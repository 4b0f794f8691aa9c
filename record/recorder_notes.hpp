// SPDX-License-Identifier: BSD-3-Clause
// Remarks of an external trainer's recorder: `notes` of each rank's exit.json.
#pragma once

#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// "rank 1: the parameter objects changed after step 0 ...", in order of ranks, truncated to the length of a message.
std::vector<std::string> recorder_notes(const Record& record);

}  // namespace plumbline
