// SPDX-License-Identifier: BSD-3-Clause
// Every way in which a right record is made wrong in one place: one cell, one row, one key, one byte.
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
  std::string where;               ///< for people: "line 3"
  std::string bytes;               ///< of the whole file
  std::vector<std::string> items;  ///< a verdict that is red at the place names one of them
};

/// All mutants of the record in `folder`, which is a right one: each column of each table on each rank, each row's
/// presence and order, each key of manifest and exit files, each file's end.
std::vector<Mutant> mutants_of(const std::filesystem::path& folder);

}  // namespace plumbline::testing
