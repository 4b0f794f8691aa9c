// SPDX-License-Identifier: BSD-3-Clause
// Every way to damage a correct record in one place: one cell, one row, one key, one byte.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline::testing {

/// One file of a record with other bytes.
struct Mutant {
  std::string file;                ///< within the record: "rank-1/memory.csv"
  std::string place;               ///< as in docs/record-format.md: "memory.csv peak_bytes", "manifest.json seed"
  std::string change;              ///< "small", "large", "blank", "row doubled", "row removed", ...
  std::string where;               ///< for messages: "line 3"
  std::string bytes;               ///< content of the whole file
  std::vector<std::string> items;  ///< a failed check must name one of them
};

/// All mutants of the correct record in `folder`: each column of each table on each rank, each row's presence and
/// order, each key of manifest and exit files, each file's end.
std::vector<Mutant> mutants_of(const std::filesystem::path& folder);

}  // namespace plumbline::testing
