// SPDX-License-Identifier: BSD-3-Clause
#include "record/columns.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "record/cells.hpp"
#include "record/digest.hpp"
#include "support/elements.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Limit of whole numbers: sums of such counts do not overflow.
constexpr std::int64_t most = std::int64_t{1} << 56;

template <typename Value>
constexpr bool is_whole = std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, std::optional<std::int64_t>>;

bool is_count(const std::optional<std::int64_t>& value, std::int64_t least) {
  return !value || (*value >= least && *value <= most);
}

/// `least`: smallest valid number.
template <typename Row, typename Value>
Column<Row> column(std::string name, Value Row::*field, Presence presence = Presence::required,
                   std::int64_t least = 0) {
  std::string wanted = kind_of_cell(static_cast<const Value*>(nullptr));
  if constexpr (is_whole<Value>) wanted += " from " + std::to_string(least) + " to 2^56";
  return {std::move(name), std::move(wanted), [field](const Row& row) { return cell_text(row.*field); },
          [=](Row& row, const std::string& text) {
            Value value{};
            if (!read_cell(text, value)) return false;
            if constexpr (is_whole<Value>)
              if (!is_count(value, least)) return false;
            row.*field = std::move(value);
            return true;
          },
          presence};
}

/// A column of text that satisfies `good`.
template <typename Row, typename Good>
Column<Row> text_column(std::string name, std::string Row::*field, std::string wanted, Good good) {
  return {std::move(name), std::move(wanted), [field](const Row& row) { return row.*field; },
          [field, good](Row& row, const std::string& text) {
            if (good(text)) row.*field = text;
            return good(text);
          },
          Presence::required};
}

template <typename Row>
Column<Row> name_column(std::string name, std::string Row::*field) {
  return text_column(std::move(name), field, "a non-empty string", [](const std::string& text) { return !text.empty(); });
}

template <typename Row>
Column<Row> word_column(std::string name, std::string Row::*field, std::vector<std::string> words) {
  std::string wanted = "one of " + join(words, ", ");
  return text_column(std::move(name), field, std::move(wanted), [words = std::move(words)](const std::string& text) {
    return std::find(words.begin(), words.end(), text) != words.end();
  });
}

template <typename Row>
Column<Row> dtype_column(std::string Row::*field) {
  return text_column("dtype", field, "one of float32, float64, bfloat16, float16, int64",
                     [](const std::string& text) { return dtype_size(text) > 0; });
}

template <typename Row>
Column<Row> digest_column(std::string Row::*field) {
  return text_column("digest", field, "a digest of 32 lower-case hex digits", is_digest);
}

/// Empty if the rank sees no data.
template <typename Row>
Column<Row> data_digest_column(std::string Row::*field) {
  return text_column("data_digest", field, "empty or a digest of 32 lower-case hex digits",
                     [](const std::string& text) { return text.empty() || is_digest(text); });
}

const std::vector<std::string> directions{"forward", "backward"};

}  // namespace

template <>
const Table<StepRow>& table_of<StepRow>() {
  static const Table<StepRow> table{
      "steps.csv",
      {column("step", &StepRow::step), column("loss", &StepRow::loss), column("gradient_norm", &StepRow::gradient_norm),
       column("clip_coefficient", &StepRow::clip_coefficient), column("learning_rate", &StepRow::learning_rate),
       column("tokens", &StepRow::tokens), column("valid_tokens", &StepRow::valid_tokens),
       column("live_tokens", &StepRow::live_tokens, Presence::external_may_lack_value),
       column("seconds", &StepRow::seconds, Presence::external_may_leave_empty),
       column("recording_seconds", &StepRow::recording_seconds, Presence::any_may_lack_column)},
      {"step"},
      Complete::each_step};
  return table;
}

template <>
const Table<MicrobatchRow>& table_of<MicrobatchRow>() {
  static const Table<MicrobatchRow> table{
      "microbatches.csv",
      {column("step", &MicrobatchRow::step), column("microbatch", &MicrobatchRow::microbatch),
       column("sequence_length", &MicrobatchRow::sequence_length), column("batch", &MicrobatchRow::batch),
       column("tokens", &MicrobatchRow::tokens), column("valid_tokens", &MicrobatchRow::valid_tokens),
       column("loss", &MicrobatchRow::loss), data_digest_column(&MicrobatchRow::data_digest)},
      {"step", "microbatch"},
      Complete::each_microbatch};
  return table;
}

template <>
const Table<TensorRow>& table_of<TensorRow>() {
  static const Table<TensorRow> table{
      "tensors.csv",
      {column("step", &TensorRow::step, Presence::required, /*least=*/-1),
       word_column("kind", &TensorRow::kind, {"gradient", "parameter", "copy", "moment1", "moment2"}),
       name_column("name", &TensorRow::name), column("stage", &TensorRow::stage), dtype_column(&TensorRow::dtype),
       column("shape", &TensorRow::shape), digest_column(&TensorRow::digest), column("l2", &TensorRow::l2),
       column("max_abs", &TensorRow::max_abs), column("nonzero", &TensorRow::nonzero),
       column("nonzero_rows", &TensorRow::nonzero_rows, Presence::external_may_lack_column),
       column("nan", &TensorRow::nan), column("inf", &TensorRow::inf),
       column("learning_rate", &TensorRow::learning_rate, Presence::external_alone)},
      {"step", "kind", "name", "stage"},
      Complete::unique};
  return table;
}

template <>
const Table<BoundaryRow>& table_of<BoundaryRow>() {
  static const Table<BoundaryRow> table{
      "boundaries.csv",
      {column("step", &BoundaryRow::step), column("microbatch", &BoundaryRow::microbatch),
       word_column("direction", &BoundaryRow::direction, directions), name_column("cut", &BoundaryRow::cut),
       column("from_stage", &BoundaryRow::from_stage), column("to_stage", &BoundaryRow::to_stage),
       word_column("side", &BoundaryRow::side, {"send", "receive", "local", "computed"}),
       column("peer", &BoundaryRow::peer), dtype_column(&BoundaryRow::dtype), column("shape", &BoundaryRow::shape),
       digest_column(&BoundaryRow::digest), column("bytes", &BoundaryRow::bytes)},
      {"step", "microbatch", "direction", "cut", "from_stage", "to_stage", "side"},
      Complete::unique};
  return table;
}

template <>
const Table<ActionRow>& table_of<ActionRow>() {
  static const Table<ActionRow> table{
      "actions.csv",
      {column("step", &ActionRow::step), column("index", &ActionRow::index), name_column("action", &ActionRow::action),
       column("stage", &ActionRow::stage), column("microbatch", &ActionRow::microbatch),
       column("start_ns", &ActionRow::start_ns), column("end_ns", &ActionRow::end_ns),
       column("wait_ns", &ActionRow::wait_ns),
       column("peak_bytes", &ActionRow::peak_bytes, Presence::external_may_lack_column)},
      {"step", "index"},
      Complete::each_index};
  return table;
}

template <>
const Table<MemoryRow>& table_of<MemoryRow>() {
  constexpr auto presence = Presence::external_may_leave_empty;
  static const Table<MemoryRow> table{
      "memory.csv",
      {column("step", &MemoryRow::step), column("peak_bytes", &MemoryRow::peak_bytes, presence),
       column("parameter_bytes", &MemoryRow::parameter_bytes, presence),
       column("gradient_bytes", &MemoryRow::gradient_bytes, presence),
       column("optimizer_bytes", &MemoryRow::optimizer_bytes, presence),
       column("activation_peak_bytes", &MemoryRow::activation_peak_bytes, presence),
       column("buffer_bytes", &MemoryRow::buffer_bytes, presence),
       column("process_peak_bytes", &MemoryRow::process_peak_bytes, presence),
       column("live_bytes", &MemoryRow::live_bytes, Presence::external_may_lack_column),
       column("table_bytes", &MemoryRow::table_bytes, Presence::added_with_schema_2),
       column("data_bytes", &MemoryRow::data_bytes, Presence::added_with_schema_2),
       column("other_bytes", &MemoryRow::other_bytes, Presence::added_with_schema_2),
       column("other_peak_bytes", &MemoryRow::other_peak_bytes, Presence::added_with_schema_2),
       column("process_private_bytes", &MemoryRow::process_private_bytes, Presence::added_with_schema_2),
       column("heap_free_bytes", &MemoryRow::heap_free_bytes, Presence::any_may_lack_column)},
      {"step"},
      Complete::each_step};
  return table;
}

template <>
const Table<SavedRow>& table_of<SavedRow>() {
  static const Table<SavedRow> table{
      "saved.csv",
      {column("microbatch", &SavedRow::microbatch), name_column("unit", &SavedRow::unit),
       column("saved_bytes", &SavedRow::saved_bytes), column("forward_bytes", &SavedRow::forward_bytes),
       column("backward_bytes", &SavedRow::backward_bytes), column("input_bytes", &SavedRow::input_bytes),
       column("retained_bytes", &SavedRow::retained_bytes), column("weight_bytes", &SavedRow::weight_bytes)},
      {"microbatch", "unit"},
      Complete::each_microbatch_unit};
  return table;
}

template <>
const Table<TrafficRow>& table_of<TrafficRow>() {
  static const Table<TrafficRow> table{
      "traffic.csv",
      {column("step", &TrafficRow::step), column("peer", &TrafficRow::peer),
       word_column("direction", &TrafficRow::direction, directions),
       word_column("side", &TrafficRow::side, {"send", "receive"}), column("operations", &TrafficRow::operations),
       column("bytes", &TrafficRow::bytes)},
      {"step", "peer", "direction", "side"},
      Complete::unique};
  return table;
}

template <>
const Table<GpuMemoryRow>& table_of<GpuMemoryRow>() {
  static const Table<GpuMemoryRow> table{
      "gpu_memory.csv",
      {column("step", &GpuMemoryRow::step), column("requested_peak_bytes", &GpuMemoryRow::requested_peak_bytes),
       column("reserved_peak_bytes", &GpuMemoryRow::reserved_peak_bytes),
       column("reserved_bytes", &GpuMemoryRow::reserved_bytes), column("free_bytes", &GpuMemoryRow::free_bytes),
       column("total_bytes", &GpuMemoryRow::total_bytes)},
      {"step"},
      Complete::each_step};
  return table;
}

template <>
const Table<EvaluationRow>& table_of<EvaluationRow>() {
  static const Table<EvaluationRow> table{
      "evaluation.csv",
      {column("step", &EvaluationRow::step), column("microbatch", &EvaluationRow::microbatch),
       column("tokens", &EvaluationRow::tokens), column("valid_tokens", &EvaluationRow::valid_tokens),
       column("loss", &EvaluationRow::loss), data_digest_column(&EvaluationRow::data_digest)},
      {"step", "microbatch"},
      Complete::unique};
  return table;
}

}  // namespace plumbline
