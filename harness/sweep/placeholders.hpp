// SPDX-License-Identifier: BSD-3-Clause
// Texts of a sweep file with {names} in them, which each run fills in.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace plumbline {

using Placeholders = std::map<std::string, std::string>;

/// The names in braces, in their order; {{ and }} stand for the braces themselves. Throws InputError for a brace alone.
std::vector<std::string> placeholders_in(const std::string& text);

/// The text with every name's value in its place. Throws InputError for a name that has none, with the list of those
/// that have, and for a brace alone.
std::string filled_in(const std::string& text, const Placeholders& values);

}  // namespace plumbline
