// SPDX-License-Identifier: BSD-3-Clause
// A record as the judge reads it, step by step, or the reason why it cannot be read; and lookup of all ranks' rows of
// one step by the keys of docs/record-format.md.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "record/record.hpp"
#include "record/record_error.hpp"
#include "record/record_stream.hpp"

namespace plumbline::judging {

template <class Row>
struct Located {
  std::int64_t rank = 0;
  const Row* row = nullptr;
};

/// Keeps pointers into the rows. Lookups without a match return an empty list, or null.
class RecordIndex {
 public:
  RecordIndex() = default;
  /// `ranks`: with the rows of one step.
  explicit RecordIndex(const std::vector<RankRecord>& ranks);

  const std::vector<Located<TensorRow>>& tensors(const std::string& kind, const std::string& name) const;
  const std::vector<Located<BoundaryRow>>& boundaries(std::int64_t microbatch, const std::string& direction,
                                                      const std::string& cut) const;
  /// The tensor at a stage boundary: the `computed` one or, if the record is a pipeline's, the one that was sent there.
  const BoundaryRow* boundary(std::int64_t microbatch, const std::string& direction, const std::string& cut) const;
  const std::vector<Located<MicrobatchRow>>& microbatches(std::int64_t microbatch) const;
  /// The first rank's row, for its sizes.
  const MicrobatchRow* microbatch(std::int64_t number) const;
  const std::vector<Located<StepRow>>& steps() const { return steps_; }

  /// All rows, to find those that should not exist.
  const std::vector<Located<TensorRow>>& all_tensors() const { return all_tensors_; }
  const std::vector<Located<BoundaryRow>>& all_boundaries() const { return all_boundaries_; }

 private:
  std::vector<Located<TensorRow>> all_tensors_;
  std::vector<Located<BoundaryRow>> all_boundaries_;
  std::map<std::pair<std::string, std::string>, std::vector<Located<TensorRow>>> tensors_;
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::vector<Located<BoundaryRow>>> boundaries_;
  std::map<std::int64_t, std::vector<Located<MicrobatchRow>>> microbatches_;
  std::vector<Located<StepRow>> steps_;
};

/// The rank's actions by index, for any order of the table.
std::vector<const ActionRow*> actions_in_order(const RankRecord& rank);

/// Bytes of the activation at a stage boundary, for each microbatch of the step: batch x sequence x hidden x bytes of
/// the dtype. Empty if the table lacks a microbatch.
std::vector<std::int64_t> boundary_bytes(const RecordIndex& index, const Manifest& manifest, std::int64_t hidden);

/// Progress of a rank, by the rows read so far.
struct RankProgress {
  std::int64_t whole_steps = 0;  ///< number of rows of steps.csv
  std::string last_action;       ///< last action of actions.csv, or empty
};

/// Never throws because of a record's content: after the first error, record() is null.
class RecordReading {
 public:
  /// `from`, `first_microbatch`: as in RecordStream.
  explicit RecordReading(const std::filesystem::path& path, std::int64_t from = 0, std::int64_t first_microbatch = 0);

  const std::filesystem::path& path() const { return path_; }
  /// The record with the rows of the current step; null once it cannot be read.
  const Record* record() const { return failure_ ? nullptr : &stream_->record(); }
  /// Rows of the previous step, by rank.
  const std::vector<RankRecord>& before() const { return stream_->before(); }
  const std::string& error() const { return error_; }
  /// Location of the error in the record.
  const RecordPlace& place() const { return place_; }
  /// Rethrows the reader's error, if any.
  void rethrow() const;

  std::optional<std::int64_t> next_step() const { return failure_ ? std::nullopt : stream_->next_step(); }
  void go_to(std::int64_t step);
  void read_to_end();
  /// Restarts the reading. Invalidates all pointers into the record.
  void begin_again();

  const std::vector<RankProgress>& progress() const { return progress_; }
  /// Number of rows read so far, for tests.
  std::int64_t rows_parsed() const { return stream_ ? stream_->rows_parsed() : 0; }

 private:
  template <typename Read>
  void keep_error_of(Read read);

  std::filesystem::path path_;
  std::int64_t from_;
  std::int64_t first_microbatch_;
  std::optional<RecordStream> stream_;
  std::exception_ptr failure_;
  std::string error_;
  RecordPlace place_ = {"record", {}, {}};
  std::vector<RankProgress> progress_;  ///< by rank
};

/// Opens a candidate's reference, from the candidate's first step on.
RecordReading read_reference_for(const RecordReading& candidate, const std::filesystem::path& reference);

/// The smallest next step of all readings.
std::optional<std::int64_t> earlier(std::optional<std::int64_t> one, std::optional<std::int64_t> other);

}  // namespace plumbline::judging
