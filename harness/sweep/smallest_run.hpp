// A run that trains next to nothing, in place of a cell's.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/sweep/planned_run.hpp"

namespace plumbline {

/// Files for `folder`, by name: run.toml of one step over two microbatches of two tokens, and model.json beside it, a
/// layer of 8 hidden units. Data, dtype and transport are those of the cell's own run; the
/// vocabulary is its model's, so that the data fits.
std::map<std::string, std::string> smallest_run(const PlannedCell& cell, const std::filesystem::path& folder);

}  // namespace plumbline
