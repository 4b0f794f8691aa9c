// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/record_reading.hpp"

#include <algorithm>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"

namespace plumbline::judging {
namespace {

template <class Map, class Key>
const typename Map::mapped_type& find_rows(const Map& map, const Key& key) {
  static const typename Map::mapped_type none;
  const auto found = map.find(key);
  return found == map.end() ? none : found->second;
}

}  // namespace

RecordIndex::RecordIndex(const std::vector<RankRecord>& ranks) {
  for (const auto& rank : ranks) {
    for (const auto& row : rank.tensors) {
      all_tensors_.push_back({rank.rank, &row});
      tensors_[{row.kind, row.name}].push_back({rank.rank, &row});
    }
    for (const auto& row : rank.boundaries) {
      all_boundaries_.push_back({rank.rank, &row});
      boundaries_[{row.microbatch, row.direction, row.cut}].push_back({rank.rank, &row});
    }
    for (const auto& row : rank.microbatches) microbatches_[row.microbatch].push_back({rank.rank, &row});
    for (const auto& row : rank.steps) steps_.push_back({rank.rank, &row});
  }
}

const std::vector<Located<TensorRow>>& RecordIndex::tensors(const std::string& kind, const std::string& name) const {
  return find_rows(tensors_, std::pair{kind, name});
}

const std::vector<Located<BoundaryRow>>& RecordIndex::boundaries(std::int64_t microbatch, const std::string& direction,
                                                                 const std::string& cut) const {
  return find_rows(boundaries_, std::tuple{microbatch, direction, cut});
}

const BoundaryRow* RecordIndex::boundary(std::int64_t microbatch, const std::string& direction,
                                         const std::string& cut) const {
  const auto& rows = boundaries(microbatch, direction, cut);
  for (const auto& placed : rows) {
    if (placed.row->side == "computed") return placed.row;
  }
  return rows.empty() ? nullptr : rows.front().row;
}

const std::vector<Located<MicrobatchRow>>& RecordIndex::microbatches(std::int64_t microbatch) const {
  return find_rows(microbatches_, microbatch);
}

const MicrobatchRow* RecordIndex::microbatch(std::int64_t number) const {
  const auto& rows = microbatches(number);
  return rows.empty() ? nullptr : rows.front().row;
}

std::vector<const ActionRow*> actions_in_order(const RankRecord& rank) {
  std::vector<const ActionRow*> rows;
  for (const ActionRow& row : rank.actions) rows.push_back(&row);
  std::ranges::sort(rows, {}, &ActionRow::index);
  return rows;
}

std::vector<std::int64_t> boundary_bytes(const RecordIndex& index, const Manifest& manifest, std::int64_t hidden) {
  std::vector<std::int64_t> bytes;
  const auto size = static_cast<std::int64_t>(dtype_size(computed_dtype(manifest.dtype)));
  for (std::int64_t microbatch = 0; microbatch < manifest.microbatches; ++microbatch) {
    const MicrobatchRow* row = index.microbatch(microbatch);
    if (!row) return {};
    bytes.push_back(row->batch * row->sequence_length * hidden * size);
  }
  return bytes;
}

template <typename Read>
void RecordReading::keep_error_of(Read read) {
  try {
    read();
  } catch (const RecordError& error) {
    failure_ = std::current_exception();
    error_ = error.what();
    place_ = error.place();
  } catch (const std::exception& error) {
    failure_ = std::current_exception();
    error_ = describe_failure(error).words;
  }
}

RecordReading::RecordReading(const std::filesystem::path& path, std::int64_t from, std::int64_t first_microbatch)
    : path_(path), from_(from), first_microbatch_(first_microbatch) {
  begin_again();
}

void RecordReading::begin_again() {
  stream_.reset();
  failure_ = nullptr;
  keep_error_of([&] {
    stream_.emplace(path_, from_, first_microbatch_);
    progress_.assign(stream_->record().ranks.size(), {});
  });
}

void RecordReading::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

void RecordReading::go_to(std::int64_t step) {
  if (failure_) return;
  keep_error_of([&] { stream_->go_to(step); });
  if (failure_) return;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const RankRecord& rank = stream_->record().ranks[i];
    progress_[i].whole_steps += std::ssize(rank.steps);
    const auto last = std::ranges::max_element(rank.actions, {}, &ActionRow::index);  // the table may be in any order
    if (last != rank.actions.end()) progress_[i].last_action = last->action;
  }
}

void RecordReading::read_to_end() {
  while (const auto step = next_step()) go_to(*step);
}

RecordReading read_reference_for(const RecordReading& candidate, const std::filesystem::path& reference) {
  return RecordReading(reference, candidate.record() ? candidate.record()->first_step : 0);
}

std::optional<std::int64_t> earlier(std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

namespace {

std::vector<std::string> units_of(const Manifest& manifest) {
  std::vector<std::string> units;
  for (const auto& stage : manifest.stages) units.insert(units.end(), stage.units.begin(), stage.units.end());
  return units;
}

/// Rows of step -1, by rank; none for a record that cannot be read, which the judged reading reports.
std::vector<TensorRow> start_of(const Record& record) {
  RecordReading reading(record.path);
  reading.go_to(-1);
  std::vector<TensorRow> rows;
  if (!reading.record()) return rows;
  for (const auto& rank : reading.record()->ranks) {
    for (const auto& row : rank.tensors) {
      if (row.kind == "parameter") rows.push_back(row);
    }
  }
  return rows;
}

/// The longest unit name that is a prefix of the parameter's, or empty.
std::string unit_by_name(const std::vector<std::string>& units, const std::string& parameter) {
  std::string longest;
  for (const auto& unit : units) {
    if (parameter.starts_with(unit + ".") && unit.size() > longest.size()) longest = unit;
  }
  return longest;
}

/// A unit of the stage that lists it; empty if none does.
std::string unit_by_place(const std::vector<TensorRow>& rows, const Manifest& manifest, const std::string& parameter) {
  for (const auto& row : rows) {
    if (row.name != parameter || row.stage < 0 || row.stage >= std::ssize(manifest.stages)) continue;
    const auto& units = manifest.stages[static_cast<std::size_t>(row.stage)].units;
    if (!units.empty()) return units.front();
  }
  return "";
}

}  // namespace

ExpectedModel model_of_records(const Record& reference, const Record& candidate) {
  const Json& config = reference.manifest.json.at("model");
  if (!reference.manifest.external()) return expected_model(config);
  const auto rows = start_of(reference);
  if (reference.manifest.conventions.config_of_a_llama) {
    ExpectedModel llama = expected_model(config);
    const bool its_names =
        rows.empty() || std::ranges::find(rows, llama.parameters.front().name, &TensorRow::name) != rows.end();
    if (its_names && llama.units == units_of(reference.manifest)) return llama;
  }
  ExpectedModel model;
  model.units = units_of(reference.manifest);
  const auto elsewhere = start_of(candidate);
  for (const auto& row : rows) {
    if (model.parameter_position(row.name)) continue;  // also on a second rank: reported by census
    std::string unit = unit_by_name(model.units, row.name);
    if (unit.empty()) unit = unit_by_place(elsewhere, candidate.manifest, row.name);
    if (unit.empty()) unit = unit_by_place(rows, reference.manifest, row.name);
    model.parameters.push_back({row.name, unit, row.shape, row.dtype});
  }
  return model;
}

}  // namespace plumbline::judging
