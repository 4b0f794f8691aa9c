// SPDX-License-Identifier: BSD-3-Clause
// Texts of a sweep file with placeholders in braces, filled in per run.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace plumbline {

using Placeholders = std::map<std::string, std::string>;

/// The names in braces, in order; {{ and }} are literal braces. Throws InputError for a single brace.
std::vector<std::string> placeholders_in(const std::string& text);

/// Replaces every name by its value. Throws InputError for an unknown name, listing the known ones, and for a single
/// brace.
std::string filled_in(const std::string& text, const Placeholders& values);

}  // namespace plumbline
