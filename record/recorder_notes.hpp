// SPDX-License-Identifier: BSD-3-Clause
// What the recorder of another trainer noticed beside what it recorded: `notes` of each rank's exit.json.
#pragma once

#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// "rank 1: the parameter objects changed after step 0 ...", by rank; shortened to what a message may hold.
std::vector<std::string> recorder_notes(const Record& record);

}  // namespace plumbline
