// SPDX-License-Identifier: BSD-3-Clause
// Run files and configs with thousands of changes: each is accepted, or refused with a message that names a file.
#include <gtest/gtest.h>

#include "model/config.hpp"
#include "tests/damage.hpp"
#include "tests/paths.hpp"
#include "training/run_file.hpp"

namespace plumbline {
namespace {

using testing::read_damaged;

class DamagedFiles : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder;
};

TEST_F(DamagedFiles, ARunFileIsAcceptedOrRefused) {
  folder.file("corpus.txt", std::string(2000, 'x'));
  const auto path = folder.file("run.toml", R"([model]
config = "config.json"
[data]
text = "corpus.txt"
seed = 11
lengths = [96, [33, 20], 1, 4]
microbatches = 5
batch = 2
masked = [4, 0]
[train]
steps = 6
seed = 12
dtype = "float64"
optimizer = "adamw"
beta1 = 0.8
eps = 1e-6
learning_rate = 2e-3
warmup_steps = 2
start_factor = 0.25
clip_norm = 1.0
[pipeline]
schedule = "1f1b"
chunks = 1
balance = [2, 0, 3]
transport = "threads"
timeout_ms = 500
[record]
level = "full"
)");

  const int refused = read_damaged(path, 3000, {"run.toml", folder.path().string()}, [&] { load_run_file(path); });

  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000) << "every file is refused";
}

TEST_F(DamagedFiles, AConfigIsAcceptedOrRefused) {
  const auto path =
      folder.file("config.json", testing::bytes_of(testing::fixtures_path() + "/models/stories260k/config.json"));

  const int refused = read_damaged(path, 3000, {"config.json"}, [&] { load_config(path); });

  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000) << "every file is refused";
}

}  // namespace
}  // namespace plumbline
