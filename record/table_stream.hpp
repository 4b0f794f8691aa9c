// SPDX-License-Identifier: BSD-3-Clause
// Streaming reader of one table of one rank under the rules of docs/record-format.md: columns, cells, rows, keys. Used
// only by RecordStream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "record/columns.hpp"
#include "record/record.hpp"
#include "record/record_error.hpp"
#include "record/required_tables.hpp"
#include "record/row_rules.hpp"
#include "record/table_keys.hpp"
#include "support/csv.hpp"
#include "support/plain_text.hpp"

namespace plumbline {

/// Shared by the tables of one rank.
struct RankPlace {
  const Manifest& manifest;
  std::filesystem::path folder;
  std::int64_t rank = 0;
  bool complete = false;  ///< the rank completed: its tables are read strictly; otherwise up to the last complete row
  std::int64_t& rows_parsed;

  RecordPlace place(const std::string& file, std::optional<std::int64_t> step = {}) const;
  /// `line` 0: no line.
  [[noreturn]] void fail(const std::string& file, std::size_t line, std::optional<std::int64_t> step,
                         const std::string& what) const;
  [[noreturn]] void fail_missing(const std::string& file) const;
};

/// Runs `read` and adds this place to errors that have none.
template <typename Read>
auto in_place(const RecordPlace& place, Read read) {
  try {
    return read();
  } catch (const RecordError&) {
    throw;
  } catch (const InputError& error) {
    throw RecordError(place, error.what());
  }
}

bool may_lack_column(Presence presence, const Manifest& manifest);
bool must_have_value_of_our_own(Presence presence);
/// True if the file is empty: the rank may have been killed before it wrote the header.
bool is_absent(const RankPlace& rank, const std::string& file);

template <typename Row>
class TableStream {
 public:
  /// Reads up to the first row. All functions throw RecordError.
  explicit TableStream(const RankPlace& rank) : rank_(rank) {
    const Demand demand = demand_of(file(), rank_.manifest, rank_.rank);
    if (rank_.manifest.level == RecordLevel::none || is_absent(rank_, file())) {
      if (rank_.complete && demand != Demand::none) rank_.fail_missing(file());
      return;
    }
    in_place(rank_.place(file()), [&] { open(demand); });
  }

  static const std::string& file() { return table_of<Row>().file; }
  /// True if level or role do not require the table and the file does not exist.
  bool absent() const { return !csv_; }
  /// True if the last, incomplete line of an incomplete rank was dropped.
  bool cut_off() const { return csv_ && csv_->cut_off(); }
  /// Step of the next row; nullopt at the end; 0 in a table without steps.
  std::optional<std::int64_t> next_step() const {
    return next_ ? std::optional(step_of(*next_).value_or(0)) : std::nullopt;
  }
  /// Appends the rows of this step if they are next.
  void take(std::int64_t step, std::vector<Row>& rows) {
    if (next_step() != step) return;
    in_place(rank_.place(file()), [&] {
      while (next_step() == step) {
        rows.push_back(std::move(*next_));
        advance();
      }
    });
  }

 private:
  /// A column of the row type and its index in the file.
  struct Located {
    const TableColumn<Row>* column;
    std::size_t index;
  };

  /// The step of a row; nullopt in a table without steps.
  static std::optional<std::int64_t> step_of(const Row& row) {
    if constexpr (requires { row.step; }) return row.step;
    return std::nullopt;
  }

  /// The part of the key that must have no gap within a step.
  static std::int64_t number_of(const Row& row) {
    if constexpr (std::is_same_v<Row, ActionRow>) return row.index;
    if constexpr (std::is_same_v<Row, MicrobatchRow>) return row.microbatch;
    return 0;
  }

  void open(Demand demand) {
    csv_.emplace(rank_.folder / file(), rank_.complete ? UnfinishedLine::refuse : UnfinishedLine::leave_out);
    const bool any = csv_->next(cells_);
    if (!any && rank_.complete && demand == Demand::rows)
      rank_.fail(file(), 0, {}, "has no rows, but the rank has something to list there");
    for (const TableColumn<Row>& column : table_of<Row>().columns)
      if (csv_->has(column.name) || !may_lack_column(column.presence, rank_.manifest))
        placed_.push_back({&column, csv_->column(column.name)});
    keys_.emplace(rank_.manifest, table_of<Row>().complete, rank_.complete);
    if (any) parse();
  }

  /// Reads the next row. After the last row, checks that no key is missing.
  void advance() {
    next_.reset();
    if (csv_->next(cells_)) return parse();
    if (const auto missing = keys_->finish()) rank_.fail(file(), 0, keys_->step(), *missing);
  }

  void parse() {
    Row row = read_row();
    if constexpr (std::is_same_v<Row, NormRow>) {  // its steps are the run's
      const std::int64_t every = rank_.manifest.every;
      for (; row.step % every != 0; row = read_row())
        if (!csv_->next(cells_)) return;
      row.step /= every;
    }
    ++rank_.rows_parsed;
    if (const auto wrong = keys_->accept(step_of(row), number_of(row), [&] { return key_text(row); }))
      rank_.fail(file(), cells_.line, keys_->step() ? keys_->step() : step_of(row), *wrong);
    next_ = std::move(row);
  }

  Row read_row() const {
    Row row;
    const auto fail_cell = [&](const std::string& name, const std::string& why) {
      rank_.fail(file(), cells_.line, step_of(row),
                 "column '" + name + "': '" + printable(cells_.cells[csv_->column(name)]) + "' " + why);
    };
    for (const auto& [column, index] : placed_) {
      const std::string& text = cells_.cells[index];
      const bool missing = text.empty() && !rank_.manifest.external() && must_have_value_of_our_own(column->presence);
      if (missing || !column->read(row, text)) fail_cell(column->name, "is not " + column->wanted);
    }
    if (const auto bad = bad_cell(row, rank_.manifest, rank_.rank)) fail_cell(bad->column, bad->why);
    return row;
  }

  const RankPlace& rank_;
  std::optional<CsvStream> csv_;
  std::vector<Located> placed_;
  std::optional<TableKeys> keys_;
  CsvRow cells_;
  std::optional<Row> next_;
};

}  // namespace plumbline
