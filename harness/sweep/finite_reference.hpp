// SPDX-License-Identifier: BSD-3-Clause
// Whether a reference's numbers can be compared with at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plumbline {

/// "the reference is not finite from step 1 on (loss nan; learning rate 1000000000)", by its steps.csv: the first step
/// whose loss or gradient norm is no number, with the rate of the update before it. Nothing where all are finite, or
/// where the table cannot be read: the judge says so.
std::optional<std::string> why_not_finite(const std::filesystem::path& record);

}  // namespace plumbline
