// SPDX-License-Identifier: BSD-3-Clause
// Writes one rank's part of a run record. Rows are buffered during a step and flushed at its end, steps.csv last.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "record/rows.hpp"
#include "support/json.hpp"

namespace plumbline {

enum class RecordLevel { none, summary, full, dump };
RecordLevel parse_record_level(const std::string& text);  ///< throws InputError listing the valid levels
std::string to_text(RecordLevel level);

/// Throws InputError if the folder exists and is not empty, so that no run overwrites another. Creates nothing.
void require_new_record_folder(const std::filesystem::path& record);
/// Creates the folder, or throws as require_new_record_folder. Rank 0 calls it first.
void claim_record_folder(const std::filesystem::path& record);

/// Throws InputError if the file exists, because then the record is of another run.
void refuse_other_run(const std::filesystem::path& file);

/// Empties a folder that this run has claimed but cannot use, because training failed before the first step: the same
/// command can then run again. Files that cannot be removed remain.
void give_back_record_folder(const std::filesystem::path& record) noexcept;
/// Throws InputError naming the key if the manifest is invalid, or if the file exists; SystemError if it cannot be
/// written.
void write_manifest(const std::filesystem::path& record, const Json& manifest);
/// schedule.csv, whose digest manifest.json has. Same errors.
void write_schedule_csv(const std::filesystem::path& record, std::string_view bytes);
/// accumulation.csv: the order in which gradients were summed, for `accumulation` "listed".
void write_accumulation_csv(const std::filesystem::path& record, std::string_view bytes);
/// A random run id (UUID version 4).
std::string new_run_id();
/// RFC 3339, UTC.
std::string now_text();

class RecordWriter {
 public:
  /// Creates `<record>/rank-<rank>/` and the tables of the level. Rows of other tables are dropped. `record` empty:
  /// nothing is written, and the folder's path is empty. Throws InputError if a table exists (from another run),
  /// SystemError if one cannot be created.
  RecordWriter(const std::filesystem::path& record, std::int64_t rank, RecordLevel level, bool with_saved,
               bool with_traffic = true);
  ~RecordWriter();
  RecordWriter(RecordWriter&&) noexcept;

  RecordLevel level() const;
  bool wants_tensors() const;  ///< level full or dump
  bool wants_dump() const;

  /// A row of any table but steps.csv. gpu_memory.csv and evaluation.csv, which few ranks have, are created with their
  /// first row.
  template <typename Row>
  void add(Row row);
  /// Ends the step: writes and flushes all buffered rows, then the row of steps.csv. Throws SystemError on a full disk,
  /// as flush and finish do.
  void end_step(const StepRow& row);
  /// Writes rows buffered outside a step (initial parameters).
  void flush();
  /// Writes exit.json. Later additions throw std::logic_error.
  void finish(const ExitFile& exit);
  std::filesystem::path folder() const;  ///< <record>/rank-<rank>
  /// For exit.json: of the rows added to microbatches.csv, XXH3-128 of their data digests one after the other; null if
  /// the rank was fed none.
  std::optional<std::string> data_digest() const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace plumbline
