#include "harness/sweep/smallest_run.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "harness/sweep/model_config.hpp"
#include "harness/sweep/run_variant.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/toml_library.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t least_vocabulary = 256;  // the bytes of a text

/// Of the cell's own model, since its data's tokens are to fit.
std::int64_t vocabulary_of(const fs::path& config) {
  try {
    return std::max(model_config(config)->json.value("vocab_size", least_vocabulary), least_vocabulary);
  } catch (const std::exception&) {  // the trainer says what is wrong with it, and says it better
    return least_vocabulary;
  }
}

void take_over(const toml::table& from, toml::table& to, const char* table, const std::vector<const char*>& keys) {
  toml::table kept;
  for (const char* key : keys) {
    if (const toml::node* value = from[table][key].node()) kept.insert_or_assign(key, *value);
  }
  to.insert_or_assign(table, std::move(kept));
}

}  // namespace

std::map<std::string, std::string> smallest_run(const PlannedCell& cell, const fs::path& folder) {
  const toml::table own = parse_toml(cell.run, pipeline_run(cell.run, {}, "1f1b", folder));
  toml::table root;
  root.insert_or_assign("model", toml::table{{"config", "model.json"}});
  take_over(own, root, "data", {"text", "tokens", "token_type", "seed", "shuffle"});
  root["data"].as_table()->insert_or_assign("lengths", toml::array{2, 2});
  take_over(own, root, "train", {"precision", "dtype", "threads"});
  root["train"].as_table()->insert_or_assign("steps", 1);
  take_over(own, root, "pipeline", {"transport", "timeout_ms"});
  std::ostringstream text;
  text << root << "\n";
  const Json model = {{"model_type", "llama"},    {"vocab_size", vocabulary_of(read_run_facts(cell.run, {}).config)},
                      {"hidden_size", 8},         {"intermediate_size", 8},
                      {"num_hidden_layers", 1},   {"num_attention_heads", 1},
                      {"num_key_value_heads", 1}, {"max_position_embeddings", 2},
                      {"rms_norm_eps", 1e-5},     {"tie_word_embeddings", false}};
  return {{"run.toml", text.str()}, {"model.json", model.dump(2) + "\n"}};
}

}  // namespace plumbline
