// SPDX-License-Identifier: BSD-3-Clause
// A record on its way through the judge: read step by step, or why it cannot be read.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record_error.hpp"
#include "record/record_stream.hpp"

namespace plumbline::judging {

/// How far a rank came, by what has been read of its tables.
struct RankProgress {
  std::int64_t whole_steps = 0;  ///< rows of steps.csv
  std::string last_action;       ///< of actions.csv; empty where there is none
};

/// Nothing of it throws for what a record holds: from the first error on there is no record.
class RecordReading {
 public:
  /// `from`: as RecordStream has it.
  explicit RecordReading(const std::filesystem::path& path, std::int64_t from = 0);

  const std::filesystem::path& path() const { return path_; }
  /// As RecordStream gives it, with the rows of the step in hand; null once it cannot be read.
  const Record* record() const { return failure_ ? nullptr : &stream_->record(); }
  /// Rows of the step before, by rank.
  const std::vector<RankRecord>& before() const { return stream_->before(); }
  const std::string& error() const { return error_; }
  /// Where in the record the error lies.
  const RecordPlace& place() const { return place_; }
  /// Throws the error, where there is one, as the reader threw it.
  void rethrow() const;

  std::optional<std::int64_t> next_step() const { return failure_ ? std::nullopt : stream_->next_step(); }
  void go_to(std::int64_t step);
  void read_to_end();
  /// Back to the start, to be read a second time. Whoever points into the record must be gone.
  void begin_again();

  const std::vector<RankProgress>& progress() const { return progress_; }
  /// Of this reading, up to where it came.
  RowCounts counts() const { return stream_ ? stream_->counts() : RowCounts(); }

 private:
  template <typename Read>
  void keep_error_of(Read read);

  std::filesystem::path path_;
  std::int64_t from_;
  std::optional<RecordStream> stream_;
  std::exception_ptr failure_;
  std::string error_;
  RecordPlace place_ = {"record", {}, {}};
  std::vector<RankProgress> progress_;  ///< by rank
};

RecordReading read_for_judging(const std::filesystem::path& path);
/// The reference of a candidate: from the step on with which that one begins.
RecordReading read_beside(const RecordReading& candidate, const std::filesystem::path& reference);

/// The least step that any of them has rows of.
std::optional<std::int64_t> earlier(std::optional<std::int64_t> one, std::optional<std::int64_t> other);

}  // namespace plumbline::judging
