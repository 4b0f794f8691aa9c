// SPDX-License-Identifier: BSD-3-Clause
#include "record/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "record/digest.hpp"
#include "support/elements.hpp"
#include "support/numbers.hpp"
#include "support/plain_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string cell_text(const Shape& value) {
  return shape_text(value);
}
std::string cell_text(bool value) {
  return value ? "true" : "false";
}
template <typename Value>
std::string cell_text(const Value& value) {
  return to_text(value);
}
template <typename Value>
std::string cell_text(const std::optional<Value>& value) {
  return value ? cell_text(*value) : "";
}

/// nullopt if the text is invalid. The second parameter only selects the type.
std::optional<std::int64_t> parse_cell(const std::string& text, std::int64_t) {
  return parse_integer(text);
}
std::optional<float> parse_cell(const std::string& text, float) {
  return parse_float(text);
}
std::optional<double> parse_cell(const std::string& text, double) {
  return parse_double(text);
}
std::optional<bool> parse_cell(const std::string& text, bool) {
  if (text == "true") return true;
  return text == "false" ? std::optional(false) : std::nullopt;
}
std::optional<Shape> parse_cell(const std::string& text, const Shape&) {
  return parse_shape(text);
}
template <typename Value>
std::optional<std::optional<Value>> parse_cell(const std::string& text, const std::optional<Value>&) {
  if (text.empty()) return std::make_optional(std::optional<Value>());
  const auto value = parse_cell(text, Value{});
  return value ? std::make_optional(value) : std::nullopt;
}

template <typename Row, typename Value>
TableColumn<Row> column(std::string name, Value Row::*field, Presence presence = Presence::required,
                        std::int64_t least = 0) {
  constexpr bool whole = std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, std::optional<std::int64_t>>;
  constexpr bool single = std::is_same_v<Value, float> || std::is_same_v<Value, std::optional<float>>;
  constexpr bool flag = std::is_same_v<Value, std::optional<bool>>;
  std::string wanted = std::is_same_v<Value, Shape> ? "a shape such as 2x64"
                       : flag                       ? "true or false"
                       : whole                      ? fmt::format("an integer from {} to 2^56", least)
                       : single                     ? "a number of 32 bits"
                                                    : "a number";
  return {std::move(name), std::move(wanted), [field](const Row& row) { return cell_text(row.*field); },
          [=](Row& row, const std::string& text) {
            auto value = parse_cell(text, Value{});
            if (!value) return false;
            if constexpr (whole)
              if (const std::optional<std::int64_t> count = *value; count && (*count < least || *count > largest_count))
                return false;
            row.*field = std::move(*value);
            return true;
          },
          presence};
}

template <typename Row, typename Good>
TableColumn<Row> text_column(std::string name, std::string Row::*field, std::string wanted, Good good) {
  return {std::move(name), std::move(wanted), [field](const Row& row) { return row.*field; },
          [field, good](Row& row, const std::string& text) {
            if (good(text)) row.*field = text;
            return good(text);
          },
          Presence::required};
}

template <typename Row>
TableColumn<Row> name_column(std::string name, std::string Row::*field) {
  return text_column(std::move(name), field, "a non-empty string of printable characters",
                     [](const std::string& text) { return !text.empty() && is_printable(text); });
}

template <typename Row>
TableColumn<Row> word_column(std::string name, std::string Row::*field, std::vector<std::string> words) {
  std::string wanted = "one of " + join(words, ", ");
  return text_column(std::move(name), field, std::move(wanted), [words = std::move(words)](const std::string& text) {
    return std::ranges::count(words, text) > 0;
  });
}

template <typename Row>
TableColumn<Row> dtype_column(std::string Row::*field) {
  return text_column("dtype", field, "one of float32, float64, bfloat16, float16, int64",
                     [](const std::string& text) { return dtype_size(text) > 0; });
}

template <typename Row>
TableColumn<Row> digest_column(std::string Row::*field) {
  return text_column("digest", field, "a digest of 32 lower-case hex digits", is_digest);
}

/// Empty if the rank sees no data.
template <typename Row>
TableColumn<Row> data_digest_column(std::string Row::*field) {
  return text_column("data_digest", field, "empty or a digest of 32 lower-case hex digits",
                     [](const std::string& text) { return text.empty() || is_digest(text); });
}

const std::vector<std::string> directions{"forward", "backward"};

Table<StepRow> made(const StepRow*) {
  return {
      "steps.csv",
      {column("step", &StepRow::step), column("loss", &StepRow::loss), column("gradient_norm", &StepRow::gradient_norm),
       column("clip_coefficient", &StepRow::clip_coefficient), column("learning_rate", &StepRow::learning_rate),
       column("tokens", &StepRow::tokens), column("valid_tokens", &StepRow::valid_tokens),
       column("live_tokens", &StepRow::live_tokens, Presence::external_may_lack_value),
       column("seconds", &StepRow::seconds, Presence::external_may_leave_empty),
       column("recording_seconds", &StepRow::recording_seconds, Presence::any_may_lack_column),
       column("updated", &StepRow::updated, Presence::external_alone)},
      {"step"},
      Complete::each_step};
}

Table<NormRow> made(const NormRow*) {
  return {"norms.csv",
          {column("step", &NormRow::step), column("call", &NormRow::call), column("norm", &NormRow::norm),
           column("replayed", &NormRow::replayed), column("coefficient", &NormRow::coefficient)},
          {"step", "call"},
          Complete::unique};
}

Table<MicrobatchRow> made(const MicrobatchRow*) {
  return {"microbatches.csv",
          {column("step", &MicrobatchRow::step), column("microbatch", &MicrobatchRow::microbatch),
           column("sequence_length", &MicrobatchRow::sequence_length), column("batch", &MicrobatchRow::batch),
           column("tokens", &MicrobatchRow::tokens), column("valid_tokens", &MicrobatchRow::valid_tokens),
           column("loss", &MicrobatchRow::loss), data_digest_column(&MicrobatchRow::data_digest)},
          {"step", "microbatch"},
          Complete::each_microbatch};
}

Table<TensorRow> made(const TensorRow*) {
  return {"tensors.csv",
          {column("step", &TensorRow::step, Presence::required, /*least=*/-1),
           word_column("kind", &TensorRow::kind,
                       {"gradient", "applied", "parameter", "copy", "moment1", "moment2", "buffer"}),
           name_column("name", &TensorRow::name), column("stage", &TensorRow::stage), dtype_column(&TensorRow::dtype),
           column("shape", &TensorRow::shape), digest_column(&TensorRow::digest), column("l2", &TensorRow::l2),
           column("max_abs", &TensorRow::max_abs), column("nonzero", &TensorRow::nonzero),
           column("nonzero_rows", &TensorRow::nonzero_rows, Presence::external_may_lack_column),
           column("nan", &TensorRow::nan), column("inf", &TensorRow::inf),
           column("learning_rate", &TensorRow::learning_rate, Presence::external_alone)},
          {"step", "kind", "name", "stage"},
          Complete::unique};
}

Table<BoundaryRow> made(const BoundaryRow*) {
  return {"boundaries.csv",
          {column("step", &BoundaryRow::step), column("microbatch", &BoundaryRow::microbatch),
           word_column("direction", &BoundaryRow::direction, directions), name_column("cut", &BoundaryRow::cut),
           column("from_stage", &BoundaryRow::from_stage), column("to_stage", &BoundaryRow::to_stage),
           word_column("side", &BoundaryRow::side, {"send", "receive", "local", "computed"}),
           column("peer", &BoundaryRow::peer), dtype_column(&BoundaryRow::dtype), column("shape", &BoundaryRow::shape),
           digest_column(&BoundaryRow::digest), column("bytes", &BoundaryRow::bytes)},
          {"step", "microbatch", "direction", "cut", "from_stage", "to_stage", "side"},
          Complete::unique};
}

Table<ActionRow> made(const ActionRow*) {
  return {"actions.csv",
          {column("step", &ActionRow::step), column("index", &ActionRow::index),
           name_column("action", &ActionRow::action), column("stage", &ActionRow::stage),
           column("microbatch", &ActionRow::microbatch), column("start_ns", &ActionRow::start_ns),
           column("end_ns", &ActionRow::end_ns), column("wait_ns", &ActionRow::wait_ns),
           column("peak_bytes", &ActionRow::peak_bytes, Presence::external_may_lack_column)},
          {"step", "index"},
          Complete::each_index};
}

Table<MemoryRow> made(const MemoryRow*) {
  constexpr auto presence = Presence::external_may_leave_empty;
  return {"memory.csv",
          {column("step", &MemoryRow::step), column("peak_bytes", &MemoryRow::peak_bytes, presence),
           column("parameter_bytes", &MemoryRow::parameter_bytes, presence),
           column("gradient_bytes", &MemoryRow::gradient_bytes, presence),
           column("optimizer_bytes", &MemoryRow::optimizer_bytes, presence),
           column("activation_peak_bytes", &MemoryRow::activation_peak_bytes, presence),
           column("buffer_bytes", &MemoryRow::buffer_bytes, presence),
           column("process_peak_bytes", &MemoryRow::process_peak_bytes, presence),
           column("live_bytes", &MemoryRow::live_bytes, Presence::external_may_lack_column)},
          {"step"},
          Complete::each_step};
}

Table<SavedRow> made(const SavedRow*) {
  return {"saved.csv",
          {column("microbatch", &SavedRow::microbatch), name_column("unit", &SavedRow::unit),
           column("saved_bytes", &SavedRow::saved_bytes), column("forward_bytes", &SavedRow::forward_bytes),
           column("backward_bytes", &SavedRow::backward_bytes), column("input_bytes", &SavedRow::input_bytes),
           column("retained_bytes", &SavedRow::retained_bytes), column("weight_bytes", &SavedRow::weight_bytes)},
          {"microbatch", "unit"},
          Complete::each_microbatch_unit};
}

Table<TrafficRow> made(const TrafficRow*) {
  return {"traffic.csv",
          {column("step", &TrafficRow::step), column("peer", &TrafficRow::peer),
           word_column("direction", &TrafficRow::direction, directions),
           word_column("side", &TrafficRow::side, {"send", "receive"}), column("operations", &TrafficRow::operations),
           column("bytes", &TrafficRow::bytes)},
          {"step", "peer", "direction", "side"},
          Complete::unique};
}

Table<GpuMemoryRow> made(const GpuMemoryRow*) {
  return {"gpu_memory.csv",
          {column("step", &GpuMemoryRow::step), column("requested_peak_bytes", &GpuMemoryRow::requested_peak_bytes),
           column("reserved_peak_bytes", &GpuMemoryRow::reserved_peak_bytes),
           column("reserved_bytes", &GpuMemoryRow::reserved_bytes), column("free_bytes", &GpuMemoryRow::free_bytes),
           column("total_bytes", &GpuMemoryRow::total_bytes)},
          {"step"},
          Complete::each_step};
}

Table<EvaluationRow> made(const EvaluationRow*) {
  return {"evaluation.csv",
          {column("step", &EvaluationRow::step), column("microbatch", &EvaluationRow::microbatch),
           column("tokens", &EvaluationRow::tokens), column("valid_tokens", &EvaluationRow::valid_tokens),
           column("loss", &EvaluationRow::loss), data_digest_column(&EvaluationRow::data_digest)},
          {"step", "microbatch"},
          Complete::unique};
}

}  // namespace

template <typename Row>
const Table<Row>& table_of() {
  static const Table<Row> table = made(static_cast<const Row*>(nullptr));
  return table;
}
template const Table<StepRow>& table_of<StepRow>();
template const Table<NormRow>& table_of<NormRow>();
template const Table<MicrobatchRow>& table_of<MicrobatchRow>();
template const Table<TensorRow>& table_of<TensorRow>();
template const Table<BoundaryRow>& table_of<BoundaryRow>();
template const Table<ActionRow>& table_of<ActionRow>();
template const Table<MemoryRow>& table_of<MemoryRow>();
template const Table<SavedRow>& table_of<SavedRow>();
template const Table<TrafficRow>& table_of<TrafficRow>();
template const Table<GpuMemoryRow>& table_of<GpuMemoryRow>();
template const Table<EvaluationRow>& table_of<EvaluationRow>();

}  // namespace plumbline
