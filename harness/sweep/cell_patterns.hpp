// SPDX-License-Identifier: BSD-3-Clause
// Selection of cases by ids and patterns.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

/// The selected `ids`, in their order. Each of `wanted` is an id, a pattern (`*` any characters, `?` one), or several
/// of them separated by commas. Throws InputError naming what matches no case, with similar ids.
std::vector<std::string> cells_named(const std::vector<std::string>& wanted, const std::vector<std::string>& ids);

/// Throws InputError: "<where>: "<wanted>" is not a case of this sweep; did you mean "...", "..."?"
[[noreturn]] void refuse_unknown_cell(const std::string& where, const std::string& wanted,
                                      const std::vector<std::string>& ids);

}  // namespace plumbline
