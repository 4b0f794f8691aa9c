// SPDX-License-Identifier: BSD-3-Clause
#include "record/writer.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "record/columns.hpp"
#include "record/exit_file.hpp"
#include "record/rank_folder.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"

namespace plumbline {
namespace {

constexpr std::array<std::pair<RecordLevel, const char*>, 4> levels{{{RecordLevel::none, "none"},
                                                                     {RecordLevel::summary, "summary"},
                                                                     {RecordLevel::full, "full"},
                                                                     {RecordLevel::dump, "dump"}}};

/// Rows buffered until the step's end, and their file; nullopt if the level lacks the table.
template <typename Row>
class Rows {
 public:
  void open(const std::filesystem::path& folder) { file_.emplace(folder / table_of<Row>().file, header_of<Row>()); }
  bool is_open() const { return file_.has_value(); }
  void add(Row row) {
    if (file_) kept_.push_back(std::move(row));
  }
  void write() {
    if (!file_) return;
    for (const Row& row : kept_) file_->row(cells_of(row));
    kept_.clear();
    file_->flush();
  }

 private:
  std::optional<CsvWriter> file_;
  std::vector<Row> kept_;
};

}  // namespace

RecordLevel parse_record_level(const std::string& text) {
  for (const auto& [level, name] : levels)
    if (text == name) return level;
  throw InputError(fmt::format("record level '{}' is not known; known: none, summary, full, dump", text));
}

std::string to_text(RecordLevel level) {
  for (const auto& [known, name] : levels)
    if (level == known) return name;
  throw std::logic_error("a record level without a name");
}

struct RecordWriter::Tables {
  std::filesystem::path folder;
  RecordLevel level;
  bool finished = false;
  std::tuple<Rows<MicrobatchRow>, Rows<TensorRow>, Rows<BoundaryRow>, Rows<ActionRow>, Rows<MemoryRow>, Rows<SavedRow>,
             Rows<TrafficRow>, Rows<GpuMemoryRow>, Rows<EvaluationRow>>
      tables;
  Rows<StepRow> steps;  // separate, because its row marks the step as complete
  Hasher data;
  bool any_data = false;

  template <typename... OfTable>
  void open() {
    (std::get<Rows<OfTable>>(tables).open(folder), ...);
  }

  void write() {
    std::apply([](auto&... rows) { (rows.write(), ...); }, tables);
  }
};

RecordWriter::RecordWriter(const std::filesystem::path& record, std::int64_t rank, RecordLevel level, bool with_saved,
                           bool with_traffic)
    : tables_(std::make_unique<Tables>()) {
  tables_->level = record.empty() ? RecordLevel::none : level;
  if (record.empty()) return;
  tables_->folder = record / rank_folder(rank);
  make_folder(tables_->folder);
  const auto refuse = [&]<typename... OfTable>(std::tuple<Rows<OfTable>...>&) {
    (refuse_other_run(tables_->folder / table_of<OfTable>().file), ...);
  };
  refuse(tables_->tables);
  refuse_other_run(tables_->folder / table_of<StepRow>().file);
  refuse_other_run(tables_->folder / "exit.json");
  if (level == RecordLevel::none) return;
  tables_->open<MicrobatchRow, ActionRow, MemoryRow>();
  if (with_traffic) tables_->open<TrafficRow>();
  if (wants_tensors()) tables_->open<TensorRow, BoundaryRow>();
  if (with_saved) tables_->open<SavedRow>();
  tables_->steps.open(tables_->folder);
}

RecordWriter::~RecordWriter() = default;
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;

RecordLevel RecordWriter::level() const {
  return tables_->level;
}
bool RecordWriter::wants_tensors() const {
  return tables_->level == RecordLevel::full || tables_->level == RecordLevel::dump;
}
bool RecordWriter::wants_dump() const {
  return tables_->level == RecordLevel::dump;
}

template <typename Row>
void RecordWriter::add(Row row) {
  if (tables_->finished) throw std::logic_error(tables_->folder.string() + ": a row after exit.json");
  auto& rows = std::get<Rows<Row>>(tables_->tables);
  if constexpr (std::is_same_v<Row, GpuMemoryRow> || std::is_same_v<Row, EvaluationRow>)
    if (!rows.is_open() && tables_->level != RecordLevel::none) rows.open(tables_->folder);
  if constexpr (std::is_same_v<Row, MicrobatchRow>) {
    tables_->data.update(row.data_digest);
    tables_->any_data = tables_->any_data || !row.data_digest.empty();
  }
  rows.add(std::move(row));
}
template void RecordWriter::add(MicrobatchRow);
template void RecordWriter::add(TensorRow);
template void RecordWriter::add(BoundaryRow);
template void RecordWriter::add(ActionRow);
template void RecordWriter::add(MemoryRow);
template void RecordWriter::add(SavedRow);
template void RecordWriter::add(TrafficRow);
template void RecordWriter::add(GpuMemoryRow);
template void RecordWriter::add(EvaluationRow);

void RecordWriter::end_step(const StepRow& row) {
  if (tables_->finished) throw std::logic_error(tables_->folder.string() + ": a step after exit.json");
  tables_->write();
  tables_->steps.add(row);
  tables_->steps.write();
}

void RecordWriter::flush() {
  tables_->write();
}

void RecordWriter::finish(const ExitFile& exit) {
  try {
    flush();
  } catch (const SystemError&) {
    if (exit.status == "ok") throw;  // otherwise report the run's own error, whose small file may still fit
  }
  if (!tables_->folder.empty()) write_exit_file(tables_->folder / "exit.json", exit);
  tables_->finished = true;
}

std::filesystem::path RecordWriter::folder() const {
  return tables_->folder;
}

std::optional<std::string> RecordWriter::data_digest() const {
  return tables_->any_data ? std::optional(tables_->data.hex()) : std::nullopt;
}

}  // namespace plumbline
