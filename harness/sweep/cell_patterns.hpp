// SPDX-License-Identifier: BSD-3-Clause
// Cells named by people: ids, and patterns of them.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

/// Those of `ids` that `wanted` names, in the order of `ids`. Each of `wanted` is an id or a pattern (`*` any
/// characters, `?` one), or several of them with commas between. Throws InputError naming what is no cell's and those
/// that come near.
std::vector<std::string> cells_named(const std::vector<std::string>& wanted, const std::vector<std::string>& ids);

/// Throws InputError: "<where>: "<wanted>" is no cell of this sweep; did you mean "...", "..."?"
[[noreturn]] void refuse_unknown_cell(const std::string& where, const std::string& wanted,
                                      const std::vector<std::string>& ids);

}  // namespace plumbline
