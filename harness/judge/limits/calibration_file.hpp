// SPDX-License-Identifier: BSD-3-Clause
// calibration.json, schema plumbline-calibration/2 (docs/exactness.md, Comparison modes).
#pragma once

#include <filesystem>

#include "harness/judge/limits/limits.hpp"

namespace plumbline::judging {

inline constexpr const char* calibration_schema = "plumbline-calibration/2";

/// Writes the path of the float64 reference relative to the file's folder.
void write_calibration(const std::filesystem::path& path, const Calibration& calibration);

/// Throws InputError naming file and key: missing file, unsupported schema, missing key, no limit at all, a limit that
/// is negative or no number, a number that does not follow from the others, fewer than 20 perturbed runs.
Calibration read_calibration(const std::filesystem::path& path);

}  // namespace plumbline::judging
