#include <algorithm>
#include <optional>
#include <type_traits>

#include "record/columns.hpp"
#include "record/exit_file.hpp"
#include "record/record.hpp"
#include "record/record_error.hpp"
#include "record/required_tables.hpp"
#include "record/row_rules.hpp"
#include "record/table_keys.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

bool may_lack_column(Presence presence, const Manifest& manifest) {
  const bool external = manifest.role == "external";
  if (presence == Presence::added_with_schema_2) return external || manifest.schema == 1;
  return external && (presence == Presence::external_may_lack_column || presence == Presence::external_may_lack_value);
}

bool must_have_value_of_our_own(Presence presence) {
  return presence == Presence::external_may_lack_value || presence == Presence::external_may_leave_empty ||
         presence == Presence::added_with_schema_2;
}

/// A column of the row type and where it stands in the file.
template <typename Row>
struct Placed {
  const Column<Row>* column;
  std::size_t index;
};

template <typename Row>
std::vector<Placed<Row>> place_columns(const CsvTable& table, const Manifest& manifest) {
  std::vector<Placed<Row>> placed;
  for (const Column<Row>& column : table_of<Row>().columns)
    if (table.has(column.name) || !may_lack_column(column.presence, manifest))
      placed.push_back({&column, table.column(column.name)});
  return placed;
}

/// The step that a row is of; nothing in a table that speaks of none.
template <typename Row>
std::optional<std::int64_t> step_of(const Row& row) {
  if constexpr (requires { row.step; }) return row.step;
  return std::nullopt;
}

/// The part of the key that must not leave a gap within a step.
template <typename Row>
std::int64_t number_of(const Row& row) {
  if constexpr (std::is_same_v<Row, ActionRow>) return row.index;
  if constexpr (std::is_same_v<Row, MicrobatchRow>) return row.microbatch;
  return 0;
}

/// Runs `read`; an error of it that has no place of its own gets this one.
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

/// Reads the tables of one rank into its record.
class RankReader {
 public:
  RankReader(const Manifest& manifest, const fs::path& folder, RankRecord& rank)
      : manifest_(manifest), folder_(folder), rank_(rank), complete_(rank.exit && rank.exit->status == "ok") {}

  template <typename Row>
  void read(std::vector<Row>& rows) {
    const std::string& file = table_of<Row>().file;
    const fs::path path = folder_ / file;
    const Demand demand = demand_of(file, manifest_, rank_.rank);
    if (manifest_.level == RecordLevel::none || is_absent(path)) {
      if (complete_ && demand != Demand::none) fail_missing(path);
      rank_.absent.push_back(file);
      return;
    }
    in_place(place_of(file), [&] { read_rows(path, demand, rows); });
  }

  void check_dumps() const {
    if (!complete_ || manifest_.level != RecordLevel::dump || !owns_units(manifest_, rank_.rank)) return;
    const auto check = [&](const std::string& name) {
      const fs::path path = folder_ / "dumps" / ("step-" + name + ".safetensors");
      if (!fs::exists(path)) fail_missing(path);
    };
    check("initial");
    for (std::int64_t step = 0; step < manifest_.steps; ++step) check(to_text(step));
  }

 private:
  template <typename Row>
  void read_rows(const fs::path& path, Demand demand, std::vector<Row>& rows) {
    const auto unfinished = complete_ ? UnfinishedLine::refuse : UnfinishedLine::leave_out;
    const CsvTable table = read_csv(path, {}, unfinished);
    if (table.cut_off) rank_.cut_off.push_back(table_of<Row>().file);
    if (complete_ && demand == Demand::rows && table.rows.empty())
      fail(path, 0, {}, "has no rows, yet the rank has something to list there");
    const auto placed = place_columns<Row>(table, manifest_);
    TableKeys keys(manifest_, table_of<Row>().complete, complete_);
    rows.reserve(table.rows.size());
    for (const CsvRow& cells : table.rows) {
      rows.push_back(read_row<Row>(table, cells, placed));
      const Row& row = rows.back();
      if (const auto wrong = keys.accept(step_of(row), number_of(row), key_text(row)))
        fail(path, cells.line, keys.step() ? keys.step() : step_of(row), *wrong);
    }
    if (rows.empty()) return;
    if (const auto missing = keys.finish()) fail(path, 0, keys.step(), *missing);
  }

  RecordPlace place_of(const std::string& file, std::optional<std::int64_t> step = {}) const {
    return {"rank-" + to_text(rank_.rank) + "/" + file, rank_.rank, step};
  }

  template <typename Row>
  Row read_row(const CsvTable& table, const CsvRow& cells, const std::vector<Placed<Row>>& placed) const {
    const bool external = manifest_.role == "external";
    Row row;
    const auto fail_cell = [&](const std::string& name, const std::string& why) {
      fail(table.path, cells.line, step_of(row),
           "column '" + name + "': '" + cells.cells[table.column(name)] + "' " + why);
    };
    for (const auto& [column, index] : placed) {
      const std::string& text = cells.cells[index];
      const bool missing = text.empty() && !external && must_have_value_of_our_own(column->presence);
      if (missing || !column->read(row, text)) fail_cell(column->name, "is not " + column->wanted);
    }
    if (const auto bad = bad_cell(row, manifest_, rank_.rank)) fail_cell(bad->column, bad->why);
    return row;
  }

  /// `line` 0: of no line.
  [[noreturn]] void fail(const fs::path& path, std::size_t line, std::optional<std::int64_t> step,
                         const std::string& what) const {
    const std::string place = line == 0 ? "" : ":" + to_text(static_cast<std::int64_t>(line));
    throw RecordError(place_of(path.filename().string(), step), path.string() + place + ": " + what);
  }

  /// A rank may have been killed before the header was written: such a file says nothing.
  bool is_absent(const fs::path& path) const {
    return !fs::exists(path) || (!complete_ && read_file(path).find('\n') == std::string::npos);
  }

  [[noreturn]] void fail_missing(const fs::path& path) const {
    fail(path, 0, {}, "is missing, yet manifest.json says level '" + to_text(manifest_.level) + "'");
  }

  const Manifest& manifest_;
  const fs::path folder_;
  RankRecord& rank_;
  const bool complete_;
};

RankRecord read_rank(const Manifest& manifest, const fs::path& record, std::int64_t number) {
  const fs::path folder = record / ("rank-" + to_text(number));
  RankRecord rank;
  rank.rank = number;
  const RecordPlace exit_place{"rank-" + to_text(number) + "/exit.json", number, {}};
  rank.exit = in_place(exit_place, [&] { return read_exit_file(folder / "exit.json"); });
  if (rank.exit && rank.exit->rank != number)
    throw RecordError(exit_place, (folder / "exit.json").string() + ": key rank: is " + to_text(rank.exit->rank) +
                                      " in the folder of rank " + to_text(number));
  RankReader reader(manifest, folder, rank);
  reader.read(rank.steps);
  reader.read(rank.microbatches);
  reader.read(rank.tensors);
  reader.read(rank.boundaries);
  reader.read(rank.actions);
  reader.read(rank.memory);
  reader.read(rank.saved);
  reader.read(rank.traffic);
  if (manifest.device != "cpu") reader.read(rank.gpu_memory);
  reader.check_dumps();
  return rank;
}

std::optional<std::string> read_schedule_csv(const Manifest& manifest, const fs::path& record) {
  const fs::path path = record / "schedule.csv";
  if (manifest.level == RecordLevel::none) return std::nullopt;
  if (!fs::exists(path)) {
    if (!demands_schedule(manifest)) return std::nullopt;
    throw InputError(path.string() + ": is missing, yet manifest.json says level '" + to_text(manifest.level) + "'");
  }
  std::string bytes = read_file(path);
  const std::string digest = hash_hex(bytes);
  if (digest != manifest.schedule_digest)
    throw InputError(path.string() + ": its digest is " + digest + ", manifest.json says '" + manifest.schedule_digest +
                     "': it was changed, or belongs to another run");
  return bytes;
}

/// Folders of ranks that the world does not have, by whatever spelling.
void refuse_other_ranks(const Manifest& manifest, const fs::path& record) {
  for (const auto& entry : fs::directory_iterator(record)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank-")) continue;
    const auto rank = parse_integer(name.substr(5));
    if (rank && *rank >= 0 && *rank < manifest.world_size && name == "rank-" + to_text(*rank)) continue;
    throw RecordError({name, rank, {}}, entry.path().string() + ": stands there, yet manifest.json says world_size " +
                                            to_text(manifest.world_size) +
                                            ": the folder holds two runs, or another thing of that name");
  }
}

/// Of schema 2: the data's digest as the first rank that saw data tells it. That all say the same is the data check's
/// to judge.
void take_data_digest(Record& record) {
  if (record.manifest.schema == 1) return;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.exit || !rank.exit->data_digest) continue;
    record.manifest.data_digest = *rank.exit->data_digest;
    return;
  }
}

}  // namespace

Record read_record(const fs::path& path) {
  Record record;
  record.path = path;
  record.manifest = in_place({"manifest.json", {}, {}}, [&] { return read_manifest(path); });
  refuse_other_ranks(record.manifest, path);
  record.schedule_csv = in_place({"schedule.csv", {}, {}}, [&] { return read_schedule_csv(record.manifest, path); });
  for (std::int64_t rank = 0; rank < record.manifest.world_size; ++rank)
    record.ranks.push_back(read_rank(record.manifest, path, rank));
  take_data_digest(record);
  return record;
}

}  // namespace plumbline
