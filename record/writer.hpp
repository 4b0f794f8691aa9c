// SPDX-License-Identifier: BSD-3-Clause
// Writes one rank's part of a run record: rows are kept during a step, written and flushed at its end, steps.csv last.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "record/rows.hpp"
#include "support/json.hpp"

namespace plumbline {

enum class RecordLevel { none, summary, full, dump };
RecordLevel parse_record_level(const std::string& text);  ///< throws InputError naming the known ones
std::string to_text(RecordLevel level);

/// Refuses (InputError) a folder that holds anything already, so that no run overwrites another; makes it otherwise.
/// Rank 0 calls it first.
void claim_record_folder(const std::filesystem::path& record);

/// Empties a folder that this run has claimed, when it found out before its first step that it cannot train: the same
/// command may then be given again. What cannot be removed stays.
void give_back_record_folder(const std::filesystem::path& record) noexcept;
/// Throws InputError naming the key when a reader would not take it or when there is one already; SystemError when it
/// cannot be written.
void write_manifest(const std::filesystem::path& record, const Json& manifest);
/// schedule.csv: `bytes` are those that manifest.json's `schedule.digest` was taken of. Same errors.
void write_schedule_csv(const std::filesystem::path& record, std::string_view bytes);
/// The order in which gradients were summed, where the manifest says "listed".
void write_accumulation_csv(const std::filesystem::path& record, std::string_view bytes);
/// A random run id (UUID version 4).
std::string new_run_id();
/// RFC 3339, UTC.
std::string now_text();

class RecordWriter {
 public:
  /// Makes `<record>/rank-<rank>/` and the tables of the level. Rows of tables that the level lacks are dropped.
  /// Throws InputError when a table is there already (another run's), SystemError when one cannot be made.
  RecordWriter(const std::filesystem::path& record, std::int64_t rank, RecordLevel level, bool with_saved);
  ~RecordWriter();
  RecordWriter(RecordWriter&&) noexcept;

  RecordLevel level() const;
  bool wants_tensors() const;  ///< level full or dump
  bool wants_dump() const;

  void add(MicrobatchRow row);
  void add(TensorRow row);
  void add(BoundaryRow row);
  void add(ActionRow row);
  void add(MemoryRow row);
  void add(SavedRow row);
  void add(TrafficRow row);
  /// The table is made with its first row: other ranks than the one that owns the loss have none.
  void add(EvaluationRow row);
  /// Ends the step: writes all rows kept, flushes, then steps.csv's row, flushed. Throws SystemError on a full disk, as
  /// flush and finish do.
  void end_step(const StepRow& row);
  /// Writes rows kept outside a step (initial parameters).
  void flush();
  /// exit.json, written last; anything added after it is a std::logic_error.
  void finish(const ExitFile& exit);
  std::filesystem::path folder() const;  ///< <record>/rank-<rank>

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace plumbline
