// SPDX-License-Identifier: BSD-3-Clause
#include "record/record_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <tuple>
#include <utility>

#include "record/exit_file.hpp"
#include "record/machine_differences.hpp"
#include "record/rank_folder.hpp"
#include "record/table_stream.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

/// The smaller of those that are there.
std::optional<std::int64_t> earlier(std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
  return !one || (other && *other < *one) ? other : one;
}

/// Calls `visit` with each member of RankRecord that is a table with steps.
template <typename Visit>
void for_each_table(Visit visit) {
  visit(&RankRecord::steps), visit(&RankRecord::norms), visit(&RankRecord::microbatches), visit(&RankRecord::tensors);
  visit(&RankRecord::boundaries), visit(&RankRecord::actions), visit(&RankRecord::memory);
  visit(&RankRecord::traffic), visit(&RankRecord::gpu_memory), visit(&RankRecord::evaluation);
}

class RankStream {
 public:
  RankStream(const Record& record, const fs::path& folder, RankRecord& rank, std::int64_t& rows_parsed)
      : place_{record.manifest, folder, rank.rank, rank.exit && rank.exit->status == "ok", rows_parsed} {
    const Manifest& manifest = record.manifest;
    if (manifest.external()) open<NormRow>(rank);
    open<StepRow>(rank), open<MicrobatchRow>(rank), open<TensorRow>(rank), open<BoundaryRow>(rank);
    open<ActionRow>(rank), open<MemoryRow>(rank), open<SavedRow>(rank);
    of<SavedRow>()->take(0, rank.saved);
    of<SavedRow>().reset();
    open<TrafficRow>(rank);
    if (manifest.device != "cpu") open<GpuMemoryRow>(rank);
    if (manifest.device == "cpu" && fs::exists(folder / "gpu_memory.csv"))
      place_.fail("gpu_memory.csv", 0, {}, "exists, but manifest.json says device cpu");
    if (manifest.evaluation) open<EvaluationRow>(rank);
    if (!manifest.evaluation && fs::exists(folder / "evaluation.csv"))
      place_.fail("evaluation.csv", 0, {}, "exists, but manifest.json has no evaluation");
    require_dump(-1);
  }

  std::optional<std::int64_t> next_step() const {
    std::optional<std::int64_t> least;
    for_each_table([&]<typename Row>(std::vector<Row> RankRecord::*) {
      const auto& table = std::get<Table<Row>>(tables_);
      if (table) least = earlier(least, table->next_step());
    });
    return least;
  }

  void take(std::int64_t step, RankRecord& rank) {
    for_each_table([&]<typename Row>(std::vector<Row> RankRecord::*rows) {
      if (auto& table = of<Row>()) table->take(step, rank.*rows);
    });
    if (rank.norms.size() == 1 && rank.steps.size() == 1) take_norm(rank.norms.front(), rank.steps.front());
    if (step >= 0) require_dump(step);
  }

 private:
  template <typename Row>
  using Table = std::optional<TableStream<Row>>;

  template <typename Row>
  Table<Row>& of() {
    return std::get<Table<Row>>(tables_);
  }

  template <typename Row>
  void open(RankRecord& rank) {
    auto& table = of<Row>().emplace(place_);
    const bool optional = std::is_same_v<Row, NormRow>;  // only of trainers that clip
    if (table.absent() && !optional) rank.absent.push_back(table.file());
    if (table.cut_off()) rank.cut_off.push_back(table.file());
  }

  /// The only clipping call of a step, which its row in steps.csv repeats.
  void take_norm(const NormRow& call, StepRow& row) const {
    if (!row.gradient_norm || !same_bits(*row.gradient_norm, call.norm) || !row.clip_coefficient ||
        !same_bits(*row.clip_coefficient, call.coefficient))
      place_.fail("norms.csv", 0, row.step,
                  fmt::format("its norm {} and coefficient {} of step {} are not those in steps.csv",
                              to_text(call.norm), to_text(call.coefficient), row.step));
    row.replayed_norm = call.replayed;
  }

  void require_dump(std::int64_t step) const {
    const Manifest& manifest = place_.manifest;
    if (!place_.complete || manifest.level != RecordLevel::dump || !owns_units(manifest, place_.rank)) return;
    const std::string file = "dumps/" + dump_file_name(step);
    if (!fs::exists(place_.folder / file)) place_.fail_missing(file);
    // Whoever reads its tensors. Larger ones are read only if that is asked for.
    in_place(place_.place(file), [&] {
      if (file_bytes(place_.folder / file) <= most_by_program) SafetensorsFile(place_.folder / file);
    });
  }

  RankPlace place_;
  std::tuple<Table<StepRow>, Table<NormRow>, Table<MicrobatchRow>, Table<TensorRow>, Table<BoundaryRow>,
             Table<ActionRow>, Table<MemoryRow>, Table<SavedRow>, Table<TrafficRow>, Table<GpuMemoryRow>,
             Table<EvaluationRow>>
      tables_;
};

/// A file whose digest the manifest has.
std::string read_list(const fs::path& path, const std::string& expected) {
  std::string bytes = read_file(path, most_by_program);
  if (const std::string digest = hash_hex(bytes); digest != expected)
    throw InputError(
        fmt::format("{}: its digest is {}, manifest.json says '{}': it was changed, or belongs to another run",
                    path.string(), digest, expected));
  return bytes;
}

std::optional<std::string> read_schedule_csv(const Manifest& manifest, const fs::path& record) {
  const fs::path path = record / "schedule.csv";
  if (manifest.level == RecordLevel::none) return std::nullopt;
  if (fs::exists(path)) return read_list(path, manifest.schedule_digest);
  if (!demands_schedule(manifest) && manifest.schedule_digest.empty()) return std::nullopt;
  if (!demands_schedule(manifest))
    throw InputError(fmt::format("{}: is missing, but manifest.json has its digest, {}; write null for no list",
                                 path.string(), manifest.schedule_digest));
  throw InputError(
      fmt::format("{}: is missing, but manifest.json says level '{}'", path.string(), to_text(manifest.level)));
}

/// The file is optional; if it exists, it must be the one of this run.
void check_accumulation_csv(const Manifest& manifest, const fs::path& record) {
  const fs::path path = record / "accumulation.csv";
  if (!fs::exists(path)) return;
  if (manifest.accumulation != "listed")
    throw InputError(
        fmt::format("{}: exists, but manifest.json says accumulation '{}'", path.string(), manifest.accumulation));
  read_list(path, manifest.accumulation_digest);
}

/// Refuses folders of ranks outside the world, also in other spellings.
void refuse_other_ranks(const Manifest& manifest, const fs::path& record) {
  for (const auto& entry : fs::directory_iterator(record)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(rank_folder_prefix)) continue;
    const auto rank = parse_integer(name.substr(rank_folder_prefix.size()));
    if (rank && *rank >= 0 && *rank < manifest.world_size && name == rank_folder(*rank)) continue;
    throw RecordError({name, rank, {}}, fmt::format("{}: exists, but manifest.json says world_size {}: the folder "
                                                    "holds two runs, or something else of that name",
                                                    entry.path().string(), manifest.world_size));
  }
}

std::optional<ExitFile> read_exit(const Manifest& manifest, const fs::path& folder, std::int64_t number) {
  const RecordPlace place{rank_folder(number) + "/exit.json", number, {}};
  const fs::path path = folder / "exit.json";
  auto exit = in_place(place, [&] { return read_exit_file(path); });
  if (exit && !exit->not_recorded.empty() && !manifest.external())
    throw RecordError(place, fmt::format("{}: key not_recorded: is allowed only in an external record", path.string()));
  if (exit && exit->rank != number)
    throw RecordError(place,
                      fmt::format("{}: key rank: is {} in the folder of rank {}", path.string(), exit->rank, number));
  return exit;
}

/// The record lacks what one rank's recorder did not record.
void take_not_recorded(Record& record) {
  auto& all = record.manifest.not_recorded;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.exit) continue;
    for (const NotRecorded& entry : rank.exit->not_recorded)
      if (std::ranges::find(all, entry) == all.end()) all.push_back(entry);
  }
}

/// Takes the data digest of the first rank that saw data. The data check compares the ranks.
void take_data_digest(Record& record) {
  for (const RankRecord& rank : record.ranks) {
    if (!rank.exit || !rank.exit->data_digest) continue;
    record.manifest.data_digest = *rank.exit->data_digest;
    return;
  }
}

void count_from(std::int64_t first, RankRecord& rank) {
  for (MicrobatchRow& row : rank.microbatches) row.microbatch += first;
  for (BoundaryRow& row : rank.boundaries) row.microbatch += first;
  for (ActionRow& row : rank.actions) {
    if (!row.microbatch) continue;
    *row.microbatch += first;
    row.action.erase(row.action.find_last_not_of("0123456789") + 1);
    row.action += to_text(*row.microbatch);
  }
}

}  // namespace

class RecordStream::Reader {
 public:
  Reader(const fs::path& path, std::int64_t from, std::int64_t first_microbatch) {
    record.path = path;
    record.first_microbatch = first_microbatch;
    record.manifest = in_place({"manifest.json", {}, {}}, [&] { return read_manifest(path); });
    record.first_step = std::clamp(from, record.manifest.first_step, record.manifest.steps);
    refuse_other_ranks(record.manifest, path);
    record.schedule_csv = in_place({"schedule.csv", {}, {}}, [&] { return read_schedule_csv(record.manifest, path); });
    in_place({"accumulation.csv", {}, {}}, [&] { check_accumulation_csv(record.manifest, path); });
    for (std::int64_t number = 0; number < record.manifest.world_size; ++number) {
      RankRecord& rank = record.ranks.emplace_back();
      rank.rank = number;
      rank.exit = read_exit(record.manifest, path / rank_folder(number), number);
      rank.machine = in_place({rank_folder(number) + "/" + rank_machine_name, number, {}},
                              [&] { return read_rank_machine(path / rank_folder(number) / rank_machine_name); });
      before.emplace_back().rank = number;
    }
    take_not_recorded(record);  // decides which tables may lack rows
    for (RankRecord& rank : record.ranks) ranks.emplace_back(record, path / rank_folder(rank.rank), rank, rows_parsed);
    take_data_digest(record);
  }

  void go_to(std::int64_t step) {
    if (step == start && record.in_part()) {
      for (std::int64_t left_out = start; left_out < record.first_step; ++left_out) {
        take(left_out);
        for (RankRecord& rank : record.ranks) rank.left_out.add(rank);
      }
      return keep_state_as_start();
    }
    take(step);
  }

  std::optional<std::int64_t> next_step() const {
    if (record.in_part() && step_ < start) return start;
    std::optional<std::int64_t> least;
    for (const RankStream& rank : ranks) least = earlier(least, rank.next_step());
    return least;
  }

  void take(std::int64_t step) {
    const bool next = step == step_ + 1 || (step_ == start && step == record.first_step);
    step_ = step;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for_each_table([&](auto rows) {
        auto &now = record.ranks[i].*rows, &earlier = before[i].*rows;
        now.swap(earlier);
        now.clear();
        if (!next) earlier.clear();
      });
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].take(step, record.ranks[i]);
      if (record.first_microbatch > 0) count_from(record.first_microbatch, record.ranks[i]);
    }
  }

  Record record;
  std::vector<RankRecord> before;
  std::deque<RankStream> ranks;  ///< a deque, because tables keep pointers to its elements
  std::int64_t rows_parsed = 0;

 private:
  /// The rows of the last step that was left out.
  void keep_state_as_start() {
    const auto drop_all = [&](RankRecord& rank) { for_each_table([&](auto rows) { (rank.*rows).clear(); }); };
    for (RankRecord& rank : record.ranks) {
      std::vector<TensorRow> tensors = std::move(rank.tensors);
      rank.tensors.clear();
      drop_all(rank);
      std::erase_if(tensors, [](const TensorRow& row) { return row.kind == "gradient" || row.kind == "applied"; });
      for (TensorRow& row : tensors) row.step = start;
      rank.left_out.tensors -= tensors.size();
      rank.tensors = std::move(tensors);
    }
    for (RankRecord& rank : before) drop_all(rank);
    step_ = start;
  }

  static constexpr std::int64_t start = -1;
  std::int64_t step_ = -2;  ///< the current step
};

RecordStream::RecordStream(const fs::path& path, std::int64_t from, std::int64_t first_microbatch)
    : reader_(std::make_unique<Reader>(path, from, first_microbatch)) {}
RecordStream::~RecordStream() = default;
RecordStream::RecordStream(RecordStream&&) noexcept = default;

const Record& RecordStream::record() const {
  return reader_->record;
}

const std::vector<RankRecord>& RecordStream::before() const {
  return reader_->before;
}

std::optional<std::int64_t> RecordStream::next_step() const {
  return reader_->next_step();
}

void RecordStream::go_to(std::int64_t step) {
  reader_->go_to(step);
}

std::int64_t RecordStream::rows_parsed() const {
  return reader_->rows_parsed;
}

void RowsBefore::add(const RankRecord& in_hand) {
  steps += in_hand.steps.size();
  microbatches += in_hand.microbatches.size();
  tensors += in_hand.tensors.size();
  boundaries += in_hand.boundaries.size();
  evaluation += in_hand.evaluation.size();
}

Record read_record(const fs::path& path) {
  RecordStream stream(path);
  Record whole = stream.record();
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    for (std::size_t i = 0; i < whole.ranks.size(); ++i) {
      for_each_table([&](auto rows) {
        const auto& now = stream.record().ranks[i].*rows;
        (whole.ranks[i].*rows).insert((whole.ranks[i].*rows).end(), now.begin(), now.end());
      });
    }
  }
  return whole;
}

}  // namespace plumbline
