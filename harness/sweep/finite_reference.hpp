// SPDX-License-Identifier: BSD-3-Clause
// Check that a reference's losses and norms are finite.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plumbline {

/// "the reference is not finite from step 1 on (loss nan; learning rate 1000000000)": from its steps.csv, the first
/// step whose loss or gradient norm is not finite, with the rate of the update before it. nullopt if all are finite, or
/// if the table cannot be read, which the judge reports.
std::optional<std::string> why_not_finite(const std::filesystem::path& record);

}  // namespace plumbline
