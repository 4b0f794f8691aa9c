// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/synthetic_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/judge/expected/model.hpp"
#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/hash.hpp"

namespace plumbline::testing {
namespace {

constexpr std::int64_t lengths[] = {3, 1, 4, 3, 2};
constexpr std::int64_t valid[] = {3, 1, 4, 2, 0};
constexpr std::int64_t tokens_of_step = 13, valid_of_step = 10, live_of_step = 6, hidden = 4;
constexpr double norms[] = {2.0, 0.5};
constexpr double rates[] = {0.0005, 0.001};

Json model_json(bool tied) {
  return {{"model_type", "llama"},    {"vocab_size", 8},        {"hidden_size", 4},
          {"intermediate_size", 6},   {"num_hidden_layers", 2}, {"num_attention_heads", 2},
          {"num_key_value_heads", 1}, {"head_dim", 2},          {"tie_word_embeddings", tied},
          {"rms_norm_eps", 1e-5},     {"rope_theta", 10000.0}};
}

Json optimizer_json(const std::string& name) {
  if (name == "sgd") return {{"name", "sgd"}, {"learning_rate", 0.001}, {"momentum", 0.9}, {"weight_decay", 0.0}};
  return {{"name", "adamw"}, {"learning_rate", 0.001}, {"beta1", 0.9}, {"beta2", 0.99},
          {"eps", 1e-8},     {"weight_decay", 0.1}};
}

std::string data_digest(std::int64_t step, std::int64_t microbatch) {
  return hash_hex("data " + std::to_string(step) + " " + std::to_string(microbatch));
}

std::optional<std::string> whole_digest_of(const RankRecord& rank) {
  std::string digests;
  for (const auto& row : rank.microbatches) digests += row.data_digest;
  return digests.empty() ? std::nullopt : std::optional(hash_hex(digests));
}

Json manifest_of(const SyntheticPlan& plan, const std::string& role,
                 const std::vector<std::vector<std::string>>& stages, const std::string& schedule,
                 const std::string& schedule_csv) {
  Json list = Json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) list.push_back({{"stage", i}, {"rank", i}, {"units", stages[i]}});
  Json tied = Json::array();
  if (plan.tied) tied.push_back({"lm_head.weight", "model.embed_tokens.weight"});
  return {{"schema", "plumbline-record/2"},
          {"run_id", new_run_id()},
          {"role", role},
          {"command", {"synthetic"}},
          {"model", model_json(plan.tied)},
          {"seed", 1},
          {"dtype", "float32"},
          {"device", plan.device},
          {"transport", plan.transport},
          {"environment", {{"attention", plan.device == "cpu" ? "flash" : "math"}}},
          {"world_size", stages.size()},
          {"steps", synthetic_steps},
          {"data", {{"source", "synthetic"}, {"microbatches", synthetic_microbatches}}},
          {"schedule",
           {{"name", schedule},
            {"chunks_per_rank", 1},
            {"microbatches", synthetic_microbatches},
            {"digest", hash_hex(schedule_csv)},
            {"accumulation", "ascending"},
            {"accumulation_digest", nullptr}}},
          {"stages", list},
          {"tied", tied},
          {"optimizer", optimizer_json(plan.optimizer)},
          {"learning_rate_schedule",
           {{"warmup_steps", 1}, {"start_factor", 0.5}, {"final_factor", 0.0}, {"total_steps", synthetic_steps}}},
          {"clip_norm", 1.0},
          {"clock_skew_ns", 0},
          {"level", plan.level},
          {"started", now_text()}};
}

std::int64_t crossing_bytes(std::int64_t microbatch) {
  return lengths[microbatch] * hidden * 4;
}

struct Kept {
  std::int64_t saved, forward, backward;
};
Kept kept(std::int64_t microbatch) {
  const auto saved = 60 * lengths[microbatch];
  return {saved, saved + 100 + 10 * lengths[microbatch], saved + 300};
}

/// A second implementation of the activation memory model, only for F and B; a split backward keeps nothing from I to
/// W.
std::int64_t action_peak(const std::vector<std::string>& units, const Action& action, std::int64_t& live) {
  if (units.empty()) return live + crossing_bytes(action.microbatch);
  if (action.type == ActionType::backward_weight) return live;
  std::int64_t peak = 0;
  if (action.type == ActionType::forward) {
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Kept bytes = kept(action.microbatch);
      peak = std::max(peak, live + bytes.forward);
      live += bytes.saved;
    }
  } else {
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Kept bytes = kept(action.microbatch);
      live -= bytes.saved;
      peak = std::max(peak, live + bytes.backward);
    }
  }
  return peak;
}

class RunBuilder {
 public:
  RunBuilder(const SyntheticPlan& plan, const std::string& role, std::vector<std::vector<std::string>> stages,
             const std::string& schedule_name)
      : plan_(plan),
        stages_(std::move(stages)),
        reference_(role == "reference"),
        model_(judging::expected_model(model_json(plan.tied))) {
    const auto world = static_cast<std::int32_t>(stages_.size());
    Schedule list = make_schedule("1f1b", world, synthetic_microbatches);
    if (!reference_ && schedule_name != "1f1b") list = make_schedule(schedule_name, world, synthetic_microbatches);
    list.name = schedule_name;
    lowered_ = lower(list, plan.tied);
    run_.schedule_csv = to_csv(list);
    run_.manifest = manifest_of(plan, role, stages_, schedule_name, run_.schedule_csv);
    manifest_.dtype = "float32";
    manifest_.device = plan.device;
    manifest_.json = run_.manifest;
  }

  SyntheticRun build() {
    for (std::size_t rank = 0; rank < stages_.size(); ++rank) {
      RankRecord record;
      record.rank = static_cast<std::int64_t>(rank);
      tensors(record, -1, "parameter");
      for (std::int64_t step = 0; step < synthetic_steps; ++step) add_step(record, step);
      if (reference_) saved(record);
      record.exit = ExitFile{record.rank, "ok", 0, std::nullopt, record.actions.back().action, whole_digest_of(record)};
      run_.ranks.push_back(std::move(record));
    }
    if (plan_.device != "cpu") add_gpu_memory();
    return std::move(run_);
  }

 private:
  bool last(const RankRecord& rank) const { return rank.rank + 1 == static_cast<std::int64_t>(stages_.size()); }
  const std::vector<std::string>& units(std::int64_t rank) const { return stages_[static_cast<std::size_t>(rank)]; }

  void add_step(RankRecord& rank, std::int64_t step) {
    const double norm = norms[step];
    StepRow row{step,          std::nullopt, norm, std::min(1.0, 1.0 / norm), rates[step], tokens_of_step,
                valid_of_step, live_of_step, 0.5};
    float total = 0;
    for (std::int64_t m = 0; m < synthetic_microbatches; ++m) {
      const float loss =
          static_cast<float>(valid[m]) * (2.0F + 0.25F * static_cast<float>(m % 2)) / static_cast<float>(valid_of_step);
      total += loss;
      const bool sees = rank.rank == 0 || last(rank);
      rank.microbatches.push_back({step, m, lengths[m], 1, lengths[m], valid[m],
                                   last(rank) ? std::optional(loss) : std::nullopt,
                                   sees ? data_digest(step, m) : std::string()});
    }
    if (last(rank)) row.loss = total;
    rank.steps.push_back(row);
    tensors(rank, step, "gradient");
    tensors(rank, step, "parameter");
    tensors(rank, step, "moment1");
    if (plan_.optimizer == "adamw") tensors(rank, step, "moment2");
    boundaries(rank, step);
    const auto peak = actions(rank, step);
    const auto state = *judging::state_bytes(model_, units(rank.rank), manifest_);
    rank.memory.push_back(memory(step, state, peak));
  }

  MemoryRow memory(std::int64_t step, const judging::StateBytes& state, std::int64_t activations) const {
    MemoryRow row;
    row.step = step;
    row.parameter_bytes = state.parameters;
    row.gradient_bytes = state.gradients;
    row.optimizer_bytes = state.optimizer;
    row.activation_peak_bytes = activations;
    row.buffer_bytes = stages_.size() > 1 ? 48 : 0;
    row.process_peak_bytes = 1 << 27;
    row.live_bytes = state.parameters + state.gradients + state.optimizer;
    row.peak_bytes = *row.live_bytes + activations;
    return row;
  }

  /// Requested bytes as in memory.csv, or those of all ranks if they are one process; 64 MiB reserved, and 500 bytes
  /// used by the context.
  void add_gpu_memory() {
    for (auto& rank : run_.ranks) {
      for (std::size_t step = 0; step < synthetic_steps; ++step) {
        std::int64_t requested = *rank.memory[step].peak_bytes;
        if (plan_.transport == "threads") {
          requested = 0;
          for (const auto& each : run_.ranks) requested += *each.memory[step].peak_bytes;
        }
        rank.gpu_memory.push_back({static_cast<std::int64_t>(step), requested, 64 << 20, 60 << 20,
                                   (std::int64_t{8} << 30) - (60 << 20) - 500, std::int64_t{8} << 30});
      }
    }
  }

  void tensors(RankRecord& rank, std::int64_t step, const std::string& kind) {
    for (const auto& parameter : model_.parameters) {
      const auto& mine = units(rank.rank);
      if (std::ranges::find(mine, parameter.unit) == mine.end()) continue;
      const std::string name =
          plan_.tied && parameter.name == "lm_head.weight" ? "model.embed_tokens.weight" : parameter.name;
      std::optional<std::int64_t> rows;
      if (parameter.shape.size() == 2)
        rows = name == "model.embed_tokens.weight" && kind == "gradient" ? live_of_step : parameter.shape[0];
      const double size = size_of(kind, step);
      rank.tensors.push_back({step, kind, parameter.name, rank.rank, "float32", parameter.shape,
                              hash_hex(kind + " " + std::to_string(step) + " " + name), size,
                              static_cast<float>(kind == "moment2" ? size : size / 2), element_count(parameter.shape),
                              rows, 0, 0, std::nullopt});
    }
  }

  /// Consistent with the step's norm and the optimizer; all gradients have one magnitude; for moment2, that of the
  /// largest element.
  double size_of(const std::string& kind, std::int64_t step) const {
    if (kind == "parameter") return 1;
    const auto different = static_cast<double>(model_.parameters.size()) - (plan_.tied ? 1 : 0);
    const double gradient = norms[step] / std::sqrt(different);
    if (kind == "gradient") return gradient;
    const double clipped = gradient * std::min(1.0, 1.0 / norms[step]);
    if (plan_.optimizer == "sgd") return clipped;
    return kind == "moment1" ? (1 - 0.9) * clipped : (1 - 0.99) * clipped / 2 * clipped / 2;
  }

  BoundaryRow boundary(std::int64_t step, std::int64_t m, const std::string& direction, const std::string& cut) const {
    BoundaryRow row{
        step, m, direction, cut, {}, {}, "computed", {}, "float32", {1, lengths[m], hidden}, "", crossing_bytes(m)};
    row.digest = hash_hex(direction + " " + std::to_string(step) + " " + std::to_string(m) + " " + cut);
    return row;
  }

  void boundaries(RankRecord& rank, std::int64_t step) {
    for (std::int64_t m = 0; m < synthetic_microbatches; ++m) {
      if (reference_) {
        for (const char* cut : {"layers.0", "layers.1", "norm", "lm_head"}) {
          for (const char* direction : {"forward", "backward"})
            rank.boundaries.push_back(boundary(step, m, direction, cut));
        }
        continue;
      }
      for (std::int64_t from = 0; from + 1 < static_cast<std::int64_t>(stages_.size()); ++from)
        crossing(rank, step, m, from);
    }
  }

  void crossing(RankRecord& rank, std::int64_t step, std::int64_t m, std::int64_t from) {
    std::size_t next = static_cast<std::size_t>(from) + 1;
    while (stages_[next].empty()) ++next;
    for (const bool forward : {true, false}) {
      BoundaryRow row = boundary(step, m, forward ? "forward" : "backward", stages_[next].front());
      const std::int64_t sender = forward ? from : from + 1, receiver = forward ? from + 1 : from;
      row.from_stage = sender, row.to_stage = receiver;
      if (rank.rank == sender) row.side = "send", row.peer = receiver, rank.boundaries.push_back(row);
      if (rank.rank == receiver) row.side = "receive", row.peer = sender, rank.boundaries.push_back(row);
    }
  }

  std::int64_t actions(RankRecord& rank, std::int64_t step) {
    std::int64_t live = 0, peak = 0, index = 0;
    std::map<std::tuple<std::int64_t, std::string, std::string>, TrafficRow> traffic;
    for (const auto& action : lowered_.ranks[static_cast<std::size_t>(rank.rank)]) {
      ActionRow row{step,
                    index,
                    to_text(action),
                    action.stage,
                    std::nullopt,
                    1'000'000 * step + 1000 * index + (reference_ ? 7 : 0),
                    1'000'000 * step + 1000 * index + 900,
                    0,
                    std::nullopt};
      if (action.microbatch != no_microbatch) row.microbatch = action.microbatch;
      if (is_compute(action.type)) {
        row.peak_bytes = action_peak(units(rank.rank), action, live);
        peak = std::max(peak, *row.peak_bytes);
      } else {
        row.peak_bytes = live;
      }
      if (is_communication(action.type)) count(traffic, step, rank.rank, action);
      rank.actions.push_back(row);
      ++index;
    }
    for (const auto& [key, row] : traffic) rank.traffic.push_back(row);
    return peak;
  }

  static void count(std::map<std::tuple<std::int64_t, std::string, std::string>, TrafficRow>& traffic,
                    std::int64_t step, std::int64_t rank, const Action& action) {
    const bool forward = action.type == ActionType::send_forward || action.type == ActionType::receive_forward;
    const bool send = action.type == ActionType::send_forward || action.type == ActionType::send_backward;
    const std::int64_t peer = forward == send ? rank + 1 : rank - 1;
    const std::string direction = forward ? "forward" : "backward", side = send ? "send" : "receive";
    auto& row =
        traffic.try_emplace({peer, direction, side}, TrafficRow{step, peer, direction, side, 0, 0}).first->second;
    ++row.operations;
    row.bytes += crossing_bytes(action.microbatch);
  }

  void saved(RankRecord& rank) {
    for (std::int64_t m = 0; m < synthetic_microbatches; ++m) {
      for (const auto& unit : model_.units) {
        const Kept bytes = kept(m);
        rank.saved.push_back({m, unit, bytes.saved, bytes.forward, bytes.backward, {}, {}, {}});
      }
    }
  }

  SyntheticPlan plan_;
  std::vector<std::vector<std::string>> stages_;
  bool reference_;
  judging::ExpectedModel model_;
  Manifest manifest_;
  Schedule lowered_;
  SyntheticRun run_;
};
}  // namespace

SyntheticRun synthetic_reference(const SyntheticPlan& plan) {
  return RunBuilder(plan, "reference", one_stage().stages, "sequential").build();
}

SyntheticRun synthetic_candidate(const SyntheticPlan& plan) {
  return RunBuilder(plan, "pipeline", plan.stages, plan.schedule).build();
}

void digest_data_again(SyntheticRun& run) {
  for (auto& rank : run.ranks) rank.exit->data_digest = whole_digest_of(rank);
}

SyntheticPlan one_stage() {
  return {.stages = {{"embed_tokens", "layers.0", "layers.1", "norm", "lm_head"}}};
}

SyntheticPlan with_empty_stage() {
  return {.stages = {{"embed_tokens", "layers.0"}, {}, {"layers.1"}, {"norm", "lm_head"}}};
}

}  // namespace plumbline::testing
