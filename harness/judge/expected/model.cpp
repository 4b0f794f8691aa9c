// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "support/elements.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

std::int64_t size_of(const Json& config, const char* key, std::optional<std::int64_t> fallback = std::nullopt) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) {
    if (fallback) return *fallback;
    throw InputError(fmt::format("manifest.json, model: key `{}` is missing; a Hugging Face config.json has it", key));
  }
  // With larger sizes a shape's number of elements could overflow.
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  const bool fits = found->is_number_integer() && *found > 0 && *found <= largest;
  if (!fits) {
    throw InputError(
        fmt::format("manifest.json, model: `{}` is {}, not an integer from 1 to {}", key, json_text(*found), largest));
  }
  return found->get<std::int64_t>();
}

bool flag_of(const Json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return false;  // transformers' default for all three flags of a Llama
  if (!found->is_boolean()) {
    throw InputError(fmt::format("manifest.json, model: `{}` is {}, not true or false", key, json_text(*found)));
  }
  return found->get<bool>();
}

void add_linear(ExpectedModel& model, const std::string& name, const std::string& unit, std::int64_t out,
                std::int64_t in, bool bias) {
  model.parameters.push_back({name + ".weight", unit, {out, in}});
  if (bias) model.parameters.push_back({name + ".bias", unit, {out}});
}

void add_layer(ExpectedModel& model, std::int64_t layer) {
  const std::string unit = "layers." + std::to_string(layer);
  const std::string prefix = fmt::format("model.{}.", unit);
  const std::int64_t query = model.heads * model.head_dim, key = model.kv_heads * model.head_dim;
  model.units.push_back(unit);
  add_linear(model, prefix + "self_attn.q_proj", unit, query, model.hidden, model.attention_bias);
  add_linear(model, prefix + "self_attn.k_proj", unit, key, model.hidden, model.attention_bias);
  add_linear(model, prefix + "self_attn.v_proj", unit, key, model.hidden, model.attention_bias);
  add_linear(model, prefix + "self_attn.o_proj", unit, model.hidden, query, model.attention_bias);
  add_linear(model, prefix + "mlp.gate_proj", unit, model.intermediate, model.hidden, model.mlp_bias);
  add_linear(model, prefix + "mlp.up_proj", unit, model.intermediate, model.hidden, model.mlp_bias);
  add_linear(model, prefix + "mlp.down_proj", unit, model.hidden, model.intermediate, model.mlp_bias);
  model.parameters.push_back({prefix + "input_layernorm.weight", unit, {model.hidden}});
  model.parameters.push_back({prefix + "post_attention_layernorm.weight", unit, {model.hidden}});
}

}  // namespace

ExpectedModel expected_model(const Json& config) {
  if (!config.is_object()) throw InputError("manifest.json: `model` must be an object of config.json keys");
  ExpectedModel model;
  model.vocabulary = size_of(config, "vocab_size");
  model.hidden = size_of(config, "hidden_size");
  model.intermediate = size_of(config, "intermediate_size");
  model.layers = size_of(config, "num_hidden_layers");
  model.heads = size_of(config, "num_attention_heads");
  model.kv_heads = size_of(config, "num_key_value_heads", model.heads);
  model.head_dim = size_of(config, "head_dim", std::max<std::int64_t>(1, model.hidden / model.heads));
  model.tied = flag_of(config, "tie_word_embeddings");
  model.attention_bias = flag_of(config, "attention_bias");
  model.mlp_bias = flag_of(config, "mlp_bias");

  model.pad_token = config.contains("pad_token_id") && !config.at("pad_token_id").is_null();

  model.units.push_back("embed_tokens");
  model.parameters.push_back({"model.embed_tokens.weight", "embed_tokens", {model.vocabulary, model.hidden}});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) add_layer(model, layer);
  model.units.push_back("norm");
  model.parameters.push_back({"model.norm.weight", "norm", {model.hidden}});
  model.units.push_back("lm_head");
  model.parameters.push_back({"lm_head.weight", "lm_head", {model.vocabulary, model.hidden}});
  return model;
}

std::optional<std::int64_t> ExpectedModel::unit_position(const std::string& unit) const {
  const auto found = std::ranges::find(units, unit);
  if (found == units.end()) return std::nullopt;
  return found - units.begin();
}

std::optional<std::int64_t> ExpectedModel::parameter_position(const std::string& name) const {
  const auto found = std::ranges::find_if(parameters, [&](const auto& p) { return p.name == name; });
  if (found == parameters.end()) return std::nullopt;
  return found - parameters.begin();
}

bool is_frozen(const Manifest& manifest, const std::string& parameter) {
  return std::ranges::find(manifest.frozen, parameter) != manifest.frozen.end();
}

StageMap stage_map(const Manifest& manifest) {
  StageMap map;
  map.stages = manifest.stages;
  bool begun = false;
  for (std::size_t i = 0; i + 1 < map.stages.size(); ++i) {
    begun = begun || !map.stages[i].units.empty();
    const auto next = std::find_if(map.stages.begin() + static_cast<std::ptrdiff_t>(i) + 1, map.stages.end(),
                                   [](const auto& stage) { return !stage.units.empty(); });
    if (!begun || next == map.stages.end()) continue;
    const auto &from = map.stages[i], &to = map.stages[i + 1];
    map.crossings.push_back({from.stage, to.stage, from.rank, to.rank, next->units.front()});
  }
  return map;
}

std::optional<std::int64_t> StageMap::stage_of(const std::string& unit) const {
  for (const auto& stage : stages) {
    if (std::ranges::find(stage.units, unit) != stage.units.end()) return stage.stage;
  }
  return std::nullopt;
}

const StageEntry* StageMap::find(std::int64_t stage) const {
  for (const auto& entry : stages) {
    if (entry.stage == stage) return &entry;
  }
  return nullptr;
}

std::vector<std::int64_t> StageMap::stages_on(std::int64_t rank) const {
  std::vector<std::int64_t> result;
  for (const auto& entry : stages) {
    if (entry.rank == rank) result.push_back(entry.stage);
  }
  return result;
}

bool is_layer(const std::string& unit) {
  return unit.starts_with("layers.");
}

namespace {

std::int64_t bytes_of(const Action& action, const std::vector<std::int64_t>& bytes) {
  const auto microbatch = static_cast<std::size_t>(action.microbatch);
  if (action.microbatch < 0 || microbatch >= bytes.size()) {
    throw InputError(
        fmt::format("schedule.csv: {} names a microbatch that microbatches.csv does not have", to_text(action)));
  }
  return bytes[microbatch];
}

struct Message {
  std::int64_t stage_step;  ///< peer's stage minus this one
  const char* direction;
  const char* side;
};

Message message_of(ActionType type) {
  switch (type) {
    case ActionType::send_forward:
      return {1, "forward", "send"};
    case ActionType::receive_forward:
      return {-1, "forward", "receive"};
    case ActionType::send_backward:
      return {-1, "backward", "send"};
    default:
      return {1, "backward", "receive"};
  }
}

}  // namespace

std::map<TrafficEdge, Moved> expected_traffic(const ActionList& lowered, const StageMap& stages,
                                              const std::vector<std::int64_t>& bytes) {
  std::map<TrafficEdge, Moved> traffic;
  for (const auto& action : lowered) {
    if (!is_communication(action.type)) continue;
    const Message message = message_of(action.type);
    const StageEntry* peer = stages.find(action.stage + message.stage_step);
    if (!peer)
      throw InputError(fmt::format("schedule.csv: the stage at the other end of {} does not exist", to_text(action)));
    Moved& moved = traffic[{peer->rank, message.direction, message.side}];
    ++moved.operations;
    moved.bytes += bytes_of(action, bytes);
  }
  return traffic;
}

namespace {

using Counts = std::vector<std::int64_t>;

Counts evenly(std::int64_t layers, std::int64_t stages) {
  Counts counts(static_cast<std::size_t>(stages), 0);
  // More stages than layers: the first has only the embedding, the next ones one layer each.
  const bool few = stages > layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    ++counts[static_cast<std::size_t>(few ? layer + 1 : layer % stages)];
  }
  return counts;
}

Counts by_cost(const ExpectedModel& model, std::int64_t stages, const std::vector<std::int64_t>& rows) {
  if (stages == 1) return {model.layers};
  const auto hidden = static_cast<double>(model.hidden), vocabulary = static_cast<double>(model.vocabulary);
  const auto queries = static_cast<double>(model.heads * model.head_dim);
  const auto keys = static_cast<double>(model.kv_heads * model.head_dim);
  const double weights = 2 * hidden * (queries + keys) + 3 * hidden * static_cast<double>(model.intermediate);
  double layer = 0, head = 0;
  for (const auto row : rows) {
    const auto length = static_cast<double>(row);
    layer += 2 * weights * length + 2 * length * length * queries;
    head += (2 * hidden * vocabulary + 4 * hidden + 5 * vocabulary) * length;
  }
  // For any number of layers next to the head, the rest is best spread evenly, so this number is the only choice.
  Counts best;
  double least = 0;
  for (std::int64_t last = model.layers; last >= 0; --last) {
    Counts counts = evenly(model.layers - last, stages - 1);
    const auto most = static_cast<double>(std::ranges::max(counts));
    const double largest = std::max(most * layer, static_cast<double>(last) * layer + head);
    counts.push_back(last);
    if (!best.empty() && largest >= least) continue;
    least = largest;
    best = std::move(counts);
  }
  return best;
}

Counts by_hand(const ExpectedModel& model, const Counts& balance, std::int64_t stages) {
  const auto sum = std::accumulate(balance.begin(), balance.end(), std::int64_t{0});
  if (std::ssize(balance) != stages || sum != model.layers || std::ranges::min(balance) < 0) {
    throw InputError(
        fmt::format("the balance has {} stages and {} layers, but there are {} stages and the model has {} layers",
                    balance.size(), sum, stages, model.layers));
  }
  return balance;
}

}  // namespace

std::vector<std::vector<std::string>> requested_partition(const ExpectedModel& model,
                                                          const RequestedPartition& requested, std::int64_t stages,
                                                          const std::vector<std::int64_t>& rows) {
  if (stages < 1) throw InputError(fmt::format("a partition needs at least 1 stage, got {}", stages));
  const Counts counts = !requested.balance.empty()    ? by_hand(model, requested.balance, stages)
                        : requested.rule == "uniform" ? evenly(model.layers, stages)
                        : requested.rule == "cost"
                            ? by_cost(model, stages, rows)
                            : throw InputError(fmt::format("partition `{}` is unknown", requested.rule));
  std::vector<std::vector<std::string>> units(counts.size());
  auto next = model.units.begin();
  units.front().push_back(*next++);
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    for (std::int64_t i = 0; i < counts[stage]; ++i) units[stage].push_back(*next++);
  }
  units.back().insert(units.back().end(), {"norm", "lm_head"});
  return units;
}

namespace {

/// Limit for shapes, which a row may claim arbitrarily: larger tensors are not digested, and none is allocated.
constexpr std::int64_t most_bytes = std::int64_t{1} << 36;

std::string digest_of_zeros(const std::string& dtype, const Shape& shape) {
  static constexpr std::array<char, std::size_t{1} << 16> zeros{};
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  if (size == 0 || element_count(shape) > most_bytes / size) return "none";
  Hasher hasher;
  hasher.update(dtype + "|" + shape_text(shape) + "|");
  for (auto left = static_cast<std::size_t>(element_count(shape) * size); left > 0;) {
    const std::size_t piece = std::min(left, zeros.size());
    hasher.update(zeros.data(), piece);
    left -= piece;
  }
  return hasher.hex();
}

}  // namespace

const std::string& ZeroDigests::digest(const std::string& dtype, const Shape& shape) {
  std::string& digest = known_[{dtype, shape}];
  if (digest.empty()) digest = digest_of_zeros(dtype, shape);
  return digest;
}

}  // namespace plumbline::judging
