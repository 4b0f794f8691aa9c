// SPDX-License-Identifier: BSD-3-Clause
// The columns of each table: one list per row type, used for writing and reading.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline {

/// Limit of a whole number in a record: sums of such counts do not overflow.
constexpr std::int64_t largest_count = std::int64_t{1} << 56;

/// Which records may lack a column or leave its cells empty. Cells that may be empty in all records are marked by their
/// type (std::optional) or reader.
enum class Presence {
  required,                  ///< all records have the column
  external_may_lack_column,  ///< external records may lack the column
  external_may_lack_value,   ///< the same, or have empty cells; in our own records every cell is filled
  external_may_leave_empty,  ///< all records have the column; external records may have empty cells
  any_may_lack_column,       ///< newer: any record may lack it or have empty cells
  external_alone,            ///< external records may have it, with or without empty cells; our own never write it
};

template <typename Row>
struct TableColumn {
  std::string name;
  std::string wanted;  ///< for messages: "an integer"
  std::function<std::string(const Row&)> text;
  std::function<bool(Row&, const std::string&)> read;  ///< returns false if the text is no valid value
  Presence presence = Presence::required;
};

/// Which keys the table of a complete rank must have. Checks decide which others must exist.
enum class Complete {
  each_step,             ///< one row per step of the run
  each_microbatch,       ///< one row per step and microbatch
  each_index,            ///< in each step, rows numbered from 0 without a gap
  each_microbatch_unit,  ///< one row per microbatch and unit
  unique,                ///< no duplicate keys and none outside the run
};

/// A row type's file ("steps.csv"), its columns in file order, and its unique key.
template <typename Row>
struct Table {
  std::string file;
  std::vector<TableColumn<Row>> columns;
  std::vector<std::string> key;  ///< column names
  Complete complete = Complete::unique;
};

/// The table of a row type of record/rows.hpp.
template <typename Row>
const Table<Row>& table_of();

/// The row's cells in the order of the table's columns.
template <typename Row>
std::vector<std::string> cells_of(const Row& row) {
  std::vector<std::string> cells;
  for (const TableColumn<Row>& column : table_of<Row>().columns)
    if (column.presence != Presence::external_alone) cells.push_back(column.text(row));
  return cells;
}

template <typename Row>
std::vector<std::string> header_of() {
  std::vector<std::string> names;
  for (const TableColumn<Row>& column : table_of<Row>().columns)
    if (column.presence != Presence::external_alone) names.push_back(column.name);
  return names;
}

}  // namespace plumbline
