// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_facts.hpp"

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

TEST(ModelConfig, IsReadAgainOnlyIfTheFileChanged) {
  const TemporaryFolder folder;
  const auto path = folder.file("config.json", R"({"hidden_size": 8})");
  const auto first = model_config(path);

  EXPECT_EQ(model_config(path), first);
  folder.file("config.json", R"({"hidden_size": 16})");
  EXPECT_EQ(model_config(path)->json.at("hidden_size"), 16);
}

}  // namespace
}  // namespace plumbline::testing
