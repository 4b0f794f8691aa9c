// How long a run's steps took, by its record.
#pragma once

#include <filesystem>
#include <vector>

namespace plumbline {

/// Of each step but the first, which warms up: the time of the rank that took longest. Throws InputError where a
/// steps.csv is missing or broken.
std::vector<double> step_seconds(const std::filesystem::path& record);

}  // namespace plumbline
