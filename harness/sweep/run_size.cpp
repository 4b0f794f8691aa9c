// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_size.hpp"

#include <algorithm>

#include "harness/sweep/model_config.hpp"
#include "harness/sweep/run_facts.hpp"
#include "support/error.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

double number(const Json& json, const char* key, double fallback) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : fallback;
}

double parameters_of(const Json& config, double hidden, double layers) {
  const double heads = std::max(number(config, "num_attention_heads", 1), 1.0);
  const double kept_heads = number(config, "num_key_value_heads", heads);
  const double attention = 2 * hidden * hidden + 2 * hidden * hidden * kept_heads / heads;
  const double layer = attention + 3 * hidden * number(config, "intermediate_size", 0) + 2 * hidden;
  const bool tied = config.value("tie_word_embeddings", Json(false)) == true;
  return layers * layer + (tied ? 1 : 2) * number(config, "vocab_size", 0) * hidden + hidden;
}

}  // namespace

RunSize run_size(const SweepFile& sweep, const PlannedReference& reference) {
  if (reference.command) return {};
  RunSize size;
  try {
    const Request request = reference.request ? *reference.request : make_request(sweep, reference);
    const auto facts = facts_of(reference);
    const auto model = model_config(facts->config);
    const Json& config = model->json;
    if (!config.is_object()) return {};
    size.hidden = number(config, "hidden_size", 0);
    size.layers = number(config, "num_hidden_layers", 0);
    size.units = size.layers * (facts->halves ? 2 : 1);
    size.parameters = parameters_of(config, size.hidden, size.layers);
    size.steps = static_cast<double>(request.steps.value_or(0));
    size.microbatches = static_cast<double>(request.microbatches->size());
    for (const auto& microbatch : *request.microbatches) {
      const auto longest = std::ranges::max(microbatch.lengths);
      size.tokens += static_cast<double>(longest) * static_cast<double>(microbatch.lengths.size());
    }
    const bool sgd = request.optimizer->at("name") == "sgd";
    size.states = !sgd ? 2 : number(*request.optimizer, "momentum", 0) > 0 ? 1 : 0;
    size.element_bytes = request.dtype == "float64" ? 8 : request.dtype == "bfloat16" ? 2 : 4;
  } catch (const InputError&) {
    return {};
  }
  return size;
}

double dump_bytes(const RunSize& size) {
  const double values = (size.steps * (2 + size.states) + 1) * size.parameters;
  const double crossing =
      size.steps * size.tokens * size.hidden * (size.units + 2) * 2 * 2;  // two directions, two ends
  return (values + crossing) * size.element_bytes;
}

double rough_seconds(const RunSize& size, std::int64_t ranks) {
  constexpr double start_s = 0.5, start_of_a_rank_s = 0.15, operations_a_second = 15e9;
  return start_s + start_of_a_rank_s * static_cast<double>(ranks) +
         6 * size.parameters * size.tokens * size.steps / operations_a_second;
}

}  // namespace plumbline
