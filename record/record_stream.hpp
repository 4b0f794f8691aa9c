// SPDX-License-Identifier: BSD-3-Clause
// A run record read step by step, under the same strict rules as read_record(), which drains it: memory does not depend
// on the number of steps, and each row is read once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "record/record.hpp"
#include "record/row_counts.hpp"

namespace plumbline {

/// Every function throws RecordError for what is not as docs/record-format.md says: InputError with file and line, and
/// with rank and step. What is wrong in a step is met when that step is read.
class RecordStream {
 public:
  /// Reads what is of no step (manifest, schedule.csv, exit files, saved.csv), and opens all tables.
  /// `from`: leaves out the steps before this one, and takes for the start what parameters and moments were after the
  /// last of them; 0, or what the record begins with anyway: all of it.
  explicit RecordStream(const std::filesystem::path& path, std::int64_t from = 0);
  ~RecordStream();
  RecordStream(RecordStream&&) noexcept;

  /// Its tables hold the rows of the step that was gone to, in the order of the file; none before the first.
  const Record& record() const;
  /// The rows of the step before, by rank, where that was gone to directly before.
  const std::vector<RankRecord>& before() const;
  /// The next step, from -1 (the start), of which any table has a row; nothing when all has been read.
  std::optional<std::int64_t> next_step() const;
  /// Lets go of the step before the one in hand and reads this one, which comes after it and not after next_step().
  void go_to(std::int64_t step);
  /// Moves the rows in hand behind those of `whole`.
  void move_rows_to(std::vector<RankRecord>& whole);
  const RowCounts& counts() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace plumbline
