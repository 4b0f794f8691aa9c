// SPDX-License-Identifier: BSD-3-Clause
#include "model/config.hpp"

#include <gtest/gtest.h>

#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

/// Its fields, one a line.
std::vector<std::string> fields_of(const LlamaConfig& config) {
  Json json = {{"vocab_size", config.vocab_size},
               {"hidden_size", config.hidden_size},
               {"intermediate_size", config.intermediate_size},
               {"layers", config.layers},
               {"heads", config.heads},
               {"kv_heads", config.kv_heads},
               {"head_dim", config.head_dim},
               {"attention_width", config.attention_width()},
               {"kv_width", config.kv_width()},
               {"max_position_embeddings", config.max_position_embeddings},
               {"rms_norm_eps", config.rms_norm_eps},
               {"rope_theta", config.rope_theta},
               {"initializer_range", config.initializer_range},
               {"pad_token_id", config.pad_token_id ? Json(*config.pad_token_id) : Json()},
               {"tied", config.tied},
               {"attention_bias", config.attention_bias},
               {"mlp_bias", config.mlp_bias},
               {"saved_dtype", config.saved_dtype},
               {"ignored_keys", config.ignored_keys}};
  if (const auto& scaling = config.rope_scaling)
    json["rope_scaling"] = {scaling->factor, scaling->low_freq_factor, scaling->high_freq_factor,
                            scaling->original_max_position_embeddings};
  std::vector<std::string> lines;
  for (const auto& [key, value] : json.items()) lines.push_back(key + " " + value.dump());
  return lines;
}

// Cases are changes to a small config: null is kept, "-" removes a key.
TEST(Config, ReadsAndRefusesConfigs) {
  const std::vector<std::string> usual = fields_of(testing::small_config());
  testing::expect_answers("model-configs.txt", [&](const std::string& input) {
    Json json = testing::small_config_json();
    json.update(Json::parse(input), /*merge_objects=*/true);
    for (auto key = json.begin(); key != json.end();) key = *key == "-" ? json.erase(key) : std::next(key);
    const testing::TemporaryFolder folder;
    std::string said;
    try {
      const LlamaConfig config = load_config(folder.file("config.json", json.dump()));
      EXPECT_EQ(config.source, json);
      for (const std::string& line : fields_of(config))
        if (input == "{}\n" || std::ranges::find(usual, line) == usual.end()) said += (said.empty() ? "" : "\n") + line;
      return said.empty() ? "accepted" : said;
    } catch (const InputError& error) {
      return testing::in_folder(folder, error.what()).substr(2);
    }
  });
}

TEST(Config, NamesAFileThatIsMissingOrNotAnObject) {
  const testing::TemporaryFolder folder;
  const auto says = [&](const std::filesystem::path& path) {
    return testing::in_folder(folder, testing::error_of<InputError>([&] { load_config(path); }));
  };
  EXPECT_EQ(says(folder / "config.json"),
            "./config.json: cannot be read: No such file or directory; check the path and the rights");
  EXPECT_EQ(says(folder.file("config.json", "[1]")), "./config.json: a config.json must hold one object { ... }");
}

}  // namespace
}  // namespace plumbline
