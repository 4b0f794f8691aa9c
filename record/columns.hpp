// SPDX-License-Identifier: BSD-3-Clause
// What the columns of each table are: one list per row type, by which it is written and read, so that the two cannot
// drift.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline {

/// Which records may do without a column or leave its cells empty. A cell that may be empty in any record says so in
/// its type (std::optional) or its reader.
enum class Presence {
  required,                  ///< the column stands in every record
  external_may_lack_column,  ///< a record of role external may lack the column
  external_may_lack_value,   ///< so it may, or leave cells empty; in our own records every cell is filled
  external_may_leave_empty,  ///< the column stands in every record, and only one of role external may leave cells empty
  added_with_schema_2,       ///< a record of role external, or of schema 1, may lack the column
  any_may_lack_column,  ///< added since: a record of any role and schema may lack it, and where it stands cells may be
                        ///< empty
  external_alone,       ///< a record of role external may have it, or leave cells empty; our own never write it
};

template <typename Row>
struct Column {
  std::string name;
  std::string wanted;  ///< for messages: "a whole number"
  std::function<std::string(const Row&)> text;
  std::function<bool(Row&, const std::string&)> read;  ///< false when the text is no value of this column
  Presence presence = Presence::required;
};

/// What a complete rank's table must hold of its keys; which of the others there must be is a check's to judge.
enum class Complete {
  each_step,             ///< one row for every step of the run
  each_microbatch,       ///< one row for every microbatch of every step
  each_index,            ///< in every step rows that count from 0 without a gap
  each_microbatch_unit,  ///< one row for every microbatch of a step and unit of the model
  unique,                ///< no key twice, none that the run lacks
};

/// A row type's file ("steps.csv"), its columns in the file's order, and its key: no two rows have it in common.
template <typename Row>
struct Table {
  std::string file;
  std::vector<Column<Row>> columns;
  std::vector<std::string> key;  ///< names of columns
  Complete complete = Complete::unique;
};

template <typename Row>
const Table<Row>& table_of();
template <>
const Table<StepRow>& table_of<StepRow>();
template <>
const Table<MicrobatchRow>& table_of<MicrobatchRow>();
template <>
const Table<TensorRow>& table_of<TensorRow>();
template <>
const Table<BoundaryRow>& table_of<BoundaryRow>();
template <>
const Table<ActionRow>& table_of<ActionRow>();
template <>
const Table<MemoryRow>& table_of<MemoryRow>();
template <>
const Table<SavedRow>& table_of<SavedRow>();
template <>
const Table<TrafficRow>& table_of<TrafficRow>();
template <>
const Table<GpuMemoryRow>& table_of<GpuMemoryRow>();
template <>
const Table<EvaluationRow>& table_of<EvaluationRow>();

/// The row's cells in the order of its table.
template <typename Row>
std::vector<std::string> cells_of(const Row& row) {
  std::vector<std::string> cells;
  for (const Column<Row>& column : table_of<Row>().columns)
    if (column.presence != Presence::external_alone) cells.push_back(column.text(row));
  return cells;
}

template <typename Row>
std::vector<std::string> header_of() {
  std::vector<std::string> names;
  for (const Column<Row>& column : table_of<Row>().columns)
    if (column.presence != Presence::external_alone) names.push_back(column.name);
  return names;
}

}  // namespace plumbline
