#include <algorithm>

#include "record/columns.hpp"
#include "record/exit_file.hpp"
#include "record/record.hpp"
#include "record/required_tables.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

bool may_lack_column(Presence presence) {
  return presence == Presence::external_may_lack_column || presence == Presence::external_may_lack_value;
}

bool must_have_value_of_our_own(Presence presence) {
  return presence == Presence::external_may_lack_value || presence == Presence::external_may_leave_empty;
}

/// A column of the row type and where it stands in the file.
template <typename Row>
struct Placed {
  const Column<Row>* column;
  std::size_t index;
};

template <typename Row>
std::vector<Placed<Row>> place_columns(const CsvTable& table, bool external) {
  std::vector<Placed<Row>> placed;
  for (const Column<Row>& column : table_of<Row>().columns)
    if (table.has(column.name) || !(external && may_lack_column(column.presence)))
      placed.push_back({&column, table.column(column.name)});
  return placed;
}

template <typename Row>
Row read_row(const CsvTable& table, const CsvRow& cells, const std::vector<Placed<Row>>& placed, bool external) {
  Row row;
  for (const auto& [column, index] : placed) {
    const std::string& text = cells.cells[index];
    const bool missing = text.empty() && !external && must_have_value_of_our_own(column->presence);
    if (missing || !column->read(row, text))
      throw InputError(table.path.string() + ":" + to_text(static_cast<std::int64_t>(cells.line)) + ": column '" +
                       column->name + "': '" + text + "' is not " + column->wanted);
  }
  return row;
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
    const auto unfinished = complete_ ? UnfinishedLine::refuse : UnfinishedLine::leave_out;
    const CsvTable table = read_csv(path, {}, unfinished);
    if (table.cut_off) rank_.cut_off.push_back(file);
    const bool external = manifest_.role == "external";
    const auto placed = place_columns<Row>(table, external);
    rows.reserve(table.rows.size());
    for (const CsvRow& row : table.rows) rows.push_back(read_row<Row>(table, row, placed, external));
    if (complete_ && demand == Demand::rows && rows.empty())
      throw InputError(path.string() + ": has no rows, yet the rank has something to list there");
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
  /// A rank may have been killed before the header was written: such a file says nothing.
  bool is_absent(const fs::path& path) const {
    return !fs::exists(path) || (!complete_ && read_file(path).find('\n') == std::string::npos);
  }

  [[noreturn]] void fail_missing(const fs::path& path) const {
    throw InputError(path.string() + ": is missing, yet manifest.json says level '" + to_text(manifest_.level) + "'");
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
  rank.exit = read_exit_file(folder / "exit.json");
  if (rank.exit && rank.exit->rank != number)
    throw InputError((folder / "exit.json").string() + ": key rank: is " + to_text(rank.exit->rank) +
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

void refuse_more_ranks(const Manifest& manifest, const fs::path& record) {
  const fs::path extra = record / ("rank-" + to_text(manifest.world_size));
  if (fs::exists(extra))
    throw InputError(extra.string() + ": stands there, yet manifest.json says world_size " +
                     to_text(manifest.world_size) + ": the folder holds two runs");
}

}  // namespace

Record read_record(const fs::path& path) {
  Record record;
  record.path = path;
  record.manifest = read_manifest(path);
  refuse_more_ranks(record.manifest, path);
  record.schedule_csv = read_schedule_csv(record.manifest, path);
  for (std::int64_t rank = 0; rank < record.manifest.world_size; ++rank)
    record.ranks.push_back(read_rank(record.manifest, path, rank));
  return record;
}

}  // namespace plumbline
