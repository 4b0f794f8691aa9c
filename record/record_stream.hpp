// SPDX-License-Identifier: BSD-3-Clause
// Streaming reader of a run record with the strict rules of read_record(), which uses it: memory does not depend on the
// number of steps, and each row is parsed once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// All functions throw RecordError (an InputError with file, line, rank and step) for deviations from
/// docs/record-format.md. An error in a step is thrown when that step is read.
class RecordStream {
 public:
  /// Reads everything outside steps (manifest, schedule.csv, exit files, saved.csv) and opens all tables. `from`: skips
  /// the steps before it and takes the parameters and moments after the last skipped one as the start; 0, or the
  /// record's first step: skips none. `first_microbatch`: added to the microbatch of each row that is not an
  /// evaluation's.
  explicit RecordStream(const std::filesystem::path& path, std::int64_t from = 0, std::int64_t first_microbatch = 0);
  ~RecordStream();
  RecordStream(RecordStream&&) noexcept;

  /// Its tables hold the rows of the current step, in file order; empty before the first go_to().
  const Record& record() const;
  /// The rows of the previous step, by rank, if go_to() visited it immediately before.
  const std::vector<RankRecord>& before() const;
  /// The next step, from -1 (the start), with a row in any table; nullopt after the last.
  std::optional<std::int64_t> next_step() const;
  /// Releases the previous step and reads this one, which must be after the current step and no later than next_step().
  void go_to(std::int64_t step);
  /// Number of rows read so far, for tests.
  std::int64_t rows_parsed() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace plumbline
