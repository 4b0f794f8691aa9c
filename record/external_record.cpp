// SPDX-License-Identifier: BSD-3-Clause
#include "record/external_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <utility>

#include "record/digest.hpp"
#include "record/manifest.hpp"
#include "record/progress_page.hpp"
#include "record/tensor_statistics.hpp"
#include "record/writer.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/ignored_label.hpp"

namespace plumbline {
namespace {

using Clock = std::chrono::steady_clock;

std::span<const std::byte> bytes_of(const TensorView& tensor) {
  std::size_t bytes = dtype_size(tensor.dtype);
  if (bytes == 0)
    throw InputError(
        fmt::format("dtype '{}' is not known; known: float32, float64, bfloat16, float16, int64", tensor.dtype));
  for (const std::int64_t size : tensor.shape) {
    if (size < 0) throw InputError(fmt::format("a tensor with a dimension of {}", size));
    bytes *= static_cast<std::size_t>(size);
  }
  if (tensor.data == nullptr && bytes > 0) throw InputError("a tensor without data");
  return {static_cast<const std::byte*>(tensor.data), bytes};
}

std::string digest_of(const TensorView& tensor) {
  return tensor_digest(tensor.dtype, tensor.shape, bytes_of(tensor));
}

Json object_of(const std::string& text, const char* what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw InputError(fmt::format("ExternalRun::{} is not a JSON object: {}", what, text));
  return json;
}

std::int64_t ranks_of(const ExternalRun& run) {
  std::int64_t last = -1;
  for (const ExternalStage& stage : run.stages) last = std::max(last, stage.rank);
  return last + 1;
}

Json manifest_of(const ExternalRun& run) {
  std::vector<StageEntry> stages;
  for (const ExternalStage& stage : run.stages) stages.push_back({std::ssize(stages), stage.rank, stage.units});
  const auto world = ranks_of(run);
  const auto on_each = std::max<std::int64_t>(1, (std::ssize(stages) + world - 1) / std::max<std::int64_t>(1, world));
  Json json = {{"schema", record_schema_name()}, {"run_id", new_run_id()}, {"role", "external"}};
  json["model"] = object_of(run.model, "model");
  json["seed"] = run.seed;
  json["dtype"] = run.dtype;
  json["device"] = run.device;
  json["world_size"] = world;
  json["steps"] = run.steps;
  json["data"] = {{"source", run.data_source}, {"microbatches", run.microbatches}};
  json["schedule"] = {{"name", run.schedule}, {"chunks_per_rank", on_each},       {"microbatches", run.microbatches},
                      {"digest", nullptr},    {"accumulation", run.accumulation}, {"accumulation_digest", nullptr}};
  json["stages"] = stages;
  json["tied"] = run.tied;
  json["frozen"] = run.frozen;
  json["loss_scaling"] = run.loss_scaling;
  json["optimizer"] = object_of(run.optimizer, "optimizer");
  json["clip_norm"] = run.clip_norm ? Json(*run.clip_norm) : Json(nullptr);
  json["norm_order"] = run.clip_norm ? run.norm_order : "canonical";
  json["clip_epsilon"] = run.clip_norm ? run.clip_epsilon : 0;
  json["level"] = run.tensors ? "full" : "summary";
  json["started"] = now_text();
  return json;
}

/// Rank 0 claims the folder; other ranks require its manifest.
std::filesystem::path begun(const std::filesystem::path& folder, const ExternalRun& run, std::int64_t rank) {
  if (rank < 0 || rank >= ranks_of(run))
    throw InputError(fmt::format("rank {} has no stage; ExternalRun::stages names the stages of all ranks", rank));
  if (rank == 0) {
    const Json manifest = manifest_of(run);
    claim_record_folder(folder);
    write_manifest(folder, manifest);
  } else if (!std::filesystem::exists(folder / "manifest.json")) {
    throw InputError(fmt::format(
        "{}: not a run record (there is no manifest.json); let rank 0 create its ExternalRecord first, and the "
        "others after a barrier",
        folder.string()));
  }
  return folder;
}

}  // namespace

ExternalMicrobatch microbatch_of_tokens(std::int64_t batch, std::int64_t length, const std::int64_t* ids,
                                        const std::int64_t* labels) {
  std::string digest = data_digest(batch, length, ids, labels);
  const auto count = batch * length;
  return {batch, length, count - std::count(labels, labels + count, ignored_label), std::move(digest)};
}

ExternalMicrobatch microbatch_of_rows(std::int64_t rows, const std::vector<TensorView>& fed) {
  Hasher all;
  for (const TensorView& tensor : fed) all.update(digest_of(tensor));
  return {rows, 1, rows, fed.empty() ? std::string{} : all.hex()};
}

struct ExternalRecord::State {
  ExternalRun run;
  std::int64_t rank;
  RecordWriter writer;
  ProgressPage progress;
  Clock::time_point origin = Clock::now(), began = origin;
  std::int64_t next_step = 0;
  bool in_step = false, finished = false;
  StepRow step;
  std::vector<ExternalMicrobatch> fed;
  std::map<std::int64_t, float> losses;
  std::vector<ActionRow> actions;
  std::string last_action;

  State(const std::filesystem::path& folder, ExternalRun of, std::int64_t of_rank)
      : run(std::move(of)),
        rank(of_rank),
        // a recorder cannot count the transport's traffic
        writer(begun(folder, run, rank), rank, run.tensors ? RecordLevel::full : RecordLevel::summary,
               /*with_saved=*/false, /*with_traffic=*/false),
        progress(writer.folder() / "progress") {}

  std::int64_t now_ns() const { return std::chrono::nanoseconds(Clock::now() - origin).count(); }

  void demand_step(const char* what) const {
    if (!in_step) throw std::logic_error(fmt::format("{} must be recorded between begin_step and end_step", what));
  }

  void tensor(std::int64_t number, const std::string& kind, std::int64_t stage, const std::string& name,
              const TensorView& value) {
    demand_own(stage);
    const auto bytes = bytes_of(value);
    TensorRow row = described(value.dtype, value.shape, bytes);
    row.step = number;
    row.kind = kind;
    row.name = name;
    row.stage = stage;
    writer.add(std::move(row));
  }

  const ExternalStage& stage_of(std::int64_t number) const {
    if (number < 0 || number >= static_cast<std::int64_t>(run.stages.size()))
      throw InputError(fmt::format("stage {} is not one of the {} in ExternalRun::stages", number, run.stages.size()));
    return run.stages[static_cast<std::size_t>(number)];
  }

  /// Refuses stages of other ranks: readers would refuse the record.
  void demand_own(std::int64_t number) const {
    const std::int64_t owner = stage_of(number).rank;
    if (owner != rank)
      throw InputError(fmt::format("stage {} is rank {}'s, but was recorded by rank {}", number, owner, rank));
  }

  void crossed(std::int64_t from, std::int64_t to, std::int64_t microbatch, const TensorView& value, const char* side) {
    demand_step("a boundary");
    const ExternalStage& giver = stage_of(from);
    const ExternalStage& taker = stage_of(to);
    demand_own(side == std::string("receive") ? to : from);
    const std::int64_t peer = side == std::string("send") ? taker.rank : giver.rank;
    auto unit =
        run.stages.begin() + std::max(from, to);  // its first unit names the stage boundary, also behind empty stages
    unit = std::find_if(unit, run.stages.end(), [](const ExternalStage& stage) { return !stage.units.empty(); });
    if (unit == run.stages.end()) return;  // no boundary tensor leaves the last unit
    boundary(unit->units.front(), to < from, microbatch, value, side, from, to, peer);
  }

  void boundary(const std::string& cut, bool backward, std::int64_t microbatch, const TensorView& value,
                const char* side, std::optional<std::int64_t> from, std::optional<std::int64_t> to,
                std::optional<std::int64_t> peer) {
    demand_step("a boundary");
    const auto bytes = bytes_of(value);
    writer.add(BoundaryRow{.step = next_step,
                           .microbatch = microbatch,
                           .direction = backward ? "backward" : "forward",
                           .cut = cut,
                           .from_stage = from,
                           .to_stage = to,
                           .side = side,
                           .peer = peer,
                           .dtype = value.dtype,
                           .shape = value.shape,
                           .digest = tensor_digest(value.dtype, value.shape, bytes),
                           .bytes = static_cast<std::int64_t>(bytes.size())});
  }

  void demand_all() const {
    const auto fail = [&](const std::string& what) { throw InputError(fmt::format("step {}: {}", next_step, what)); };
    const auto wanted = static_cast<std::size_t>(run.microbatches);
    if (fed.size() != wanted)
      fail(fmt::format("{} microbatches were recorded, of {} that a step has", fed.size(), wanted));
    if (!losses.empty() &&
        (losses.size() != wanted || losses.begin()->first != 0 || losses.rbegin()->first + 1 != run.microbatches))
      fail(fmt::format("losses of {} microbatches were recorded, of {}", losses.size(), wanted));
    if (losses.empty() && run.stages.back().rank == rank) fail("no loss was recorded; call loss() for each microbatch");
    if (run.clip_norm && !step.gradient_norm)
      fail("clip_norm is set, but no norm was recorded; call norm(norm, coefficient)");
  }

  void write_step() {
    std::optional<float> total;
    for (const auto& [microbatch, loss] : losses) total = total.value_or(0) + loss;
    for (std::size_t m = 0; m < fed.size(); ++m) {
      const ExternalMicrobatch& one = fed[m];
      const auto number = static_cast<std::int64_t>(m);
      const std::int64_t tokens = one.batch * one.sequence_length;
      step.tokens += tokens;
      step.valid_tokens += one.valid_tokens;
      writer.add(MicrobatchRow{.step = next_step,
                               .microbatch = number,
                               .sequence_length = one.sequence_length,
                               .batch = one.batch,
                               .tokens = tokens,
                               .valid_tokens = one.valid_tokens,
                               .loss = losses.empty() ? std::optional<float>() : losses.at(number),
                               .data_digest = one.digest});
    }
    for (const ActionRow& action : actions) writer.add(action);
    MemoryRow unknown;
    unknown.step = next_step;
    writer.add(unknown);
    step.loss = total;
    step.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    writer.end_step(step);
  }

  void end(const std::string& status, int code) {
    finished = true;
    writer.finish({rank, status, code, std::nullopt, last_action, writer.data_digest()});
  }
};

ExternalRecord::ExternalRecord(const std::filesystem::path& folder, const ExternalRun& run, std::int64_t rank)
    : state_(std::make_unique<State>(folder, run, rank)) {}

ExternalRecord::ExternalRecord(ExternalRecord&&) noexcept = default;

ExternalRecord::~ExternalRecord() {
  if (!state_ || state_->finished) return;
  try {
    state_->end("error", 1);
  } catch (...) {  // the failing rank reports its own error; a missing exit.json is enough
  }
}

void ExternalRecord::initial_parameter(std::int64_t stage, const std::string& name, const TensorView& value) {
  if (state_->next_step > 0 || state_->in_step)
    throw std::logic_error("initial parameters must be recorded before the first step");
  state_->tensor(-1, "parameter", stage, name, value);
}

void ExternalRecord::begin_step(double learning_rate) {
  State& now = *state_;
  if (now.in_step) throw std::logic_error("begin_step before the previous step has ended");
  if (now.next_step >= now.run.steps)
    throw std::logic_error(fmt::format("the record was made for {} steps, and this one exceeds them", now.run.steps));
  if (now.next_step == 0) now.writer.flush();
  now.in_step = true;
  now.began = Clock::now();
  now.step = StepRow();
  now.step.step = now.next_step;
  now.step.learning_rate = learning_rate;
  now.fed.clear();
  now.losses.clear();
  now.actions.clear();
  now.progress.update({.step = now.next_step});
}

void ExternalRecord::microbatch(const ExternalMicrobatch& fed) {
  state_->demand_step("microbatch");
  state_->fed.push_back(fed);
}

void ExternalRecord::loss(std::int64_t microbatch, float loss) {
  state_->demand_step("loss");
  state_->losses[microbatch] = loss;
}

void ExternalRecord::sent(std::int64_t stage, std::int64_t to_stage, std::int64_t microbatch, const TensorView& value) {
  state_->crossed(stage, to_stage, microbatch, value, "send");
}

void ExternalRecord::received(std::int64_t stage, std::int64_t from_stage, std::int64_t microbatch,
                              const TensorView& value) {
  state_->crossed(from_stage, stage, microbatch, value, "receive");
}

void ExternalRecord::handed_over(std::int64_t from_stage, std::int64_t to_stage, std::int64_t microbatch,
                                 const TensorView& value) {
  state_->crossed(from_stage, to_stage, microbatch, value, "local");
}

void ExternalRecord::computed(const std::string& cut, bool backward, std::int64_t microbatch, const TensorView& value) {
  state_->boundary(cut, backward, microbatch, value, "computed", {}, {}, {});
}

std::size_t ExternalRecord::begin_action(std::int64_t stage, const std::string& kind,
                                         std::optional<std::int64_t> microbatch, std::int32_t waits_for) {
  State& now = *state_;
  now.demand_step("an action");
  now.demand_own(stage);
  const auto index = static_cast<std::int64_t>(now.actions.size());
  now.last_action = fmt::format("{}{}{}", stage, kind, microbatch ? std::to_string(*microbatch) : "");
  now.progress.update({.step = now.next_step,
                       .action_index = index,
                       .peer = waits_for,
                       .microbatch = static_cast<std::int32_t>(microbatch.value_or(-1)),
                       .action = now.last_action});
  ActionRow row;
  row.step = now.next_step;
  row.index = index;
  row.action = now.last_action;
  row.stage = stage;
  row.microbatch = microbatch;
  row.start_ns = row.end_ns = now.now_ns();
  if (waits_for >= 0) row.wait_ns = -1;  // unknown until the action ends
  now.actions.push_back(row);
  return now.actions.size() - 1;
}

void ExternalRecord::end_action(std::size_t action) {
  State& now = *state_;
  now.demand_step("an action");
  if (action >= now.actions.size()) throw std::logic_error("end_action for an action that was not begun in this step");
  ActionRow& row = now.actions[action];
  row.end_ns = now.now_ns();
  if (row.wait_ns < 0) row.wait_ns = row.end_ns - row.start_ns;
  now.progress.update({.step = now.next_step, .action_index = row.index, .action = row.action});
}

void ExternalRecord::gradient(std::int64_t stage, const std::string& name, const TensorView& value) {
  state_->demand_step("a gradient");
  state_->tensor(state_->next_step, "gradient", stage, name, value);
}

void ExternalRecord::norm(double norm, double coefficient) {
  state_->demand_step("norm");
  state_->step.gradient_norm = norm;
  state_->step.clip_coefficient = coefficient;
}

void ExternalRecord::after_step(const std::string& kind, std::int64_t stage, const std::string& name,
                                const TensorView& value) {
  state_->demand_step(kind.c_str());
  if (kind != "parameter" && kind != "moment1" && kind != "moment2")
    throw InputError(fmt::format("after_step: kind '{}'; known: parameter, moment1, moment2", kind));
  state_->tensor(state_->next_step, kind, stage, name, value);
}

void ExternalRecord::end_step() {
  State& now = *state_;
  now.demand_step("end_step");
  now.demand_all();
  now.write_step();
  now.in_step = false;
  ++now.next_step;
}

void ExternalRecord::finish() {
  State& now = *state_;
  if (now.finished) return;
  if (now.in_step || now.next_step < now.run.steps)
    throw std::logic_error(fmt::format("finish after {} of {} steps", now.next_step, now.run.steps));
  now.end("ok", 0);
}

}  // namespace plumbline
