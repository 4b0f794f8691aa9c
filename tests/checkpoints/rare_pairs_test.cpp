// SPDX-License-Identifier: BSD-3-Clause
// Two rare conditions at once: exit code, message, and that a refusal leaves the folder unchanged.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* checkpoints[] = {"step-00000001", "step-00000002", "step-00000003"};

void flip_a_bit(const fs::path& checkpoint) {
  for (const auto& each : fs::directory_iterator(checkpoint)) {
    if (!each.path().filename().string().starts_with("model-0")) continue;
    std::string bytes = testing::bytes_of(each.path());
    bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 1);
    write_file(each.path(), bytes);
  }
}
void lose(const fs::path& checkpoint) {
  fs::remove(checkpoint / "checkpoint.json");
}
void take_another_config(const fs::path& checkpoint) {
  fs::copy_file(testing::fixtures_path() + "/models/untied-128/config.json", checkpoint / "config.json",
                fs::copy_options::overwrite_existing);
}
void of_another_training(const fs::path& checkpoint) {
  Json json = read_json(checkpoint / "checkpoint.json");
  json["training"]["train"]["seed"] = 7;
  write_json(checkpoint / "checkpoint.json", json);
}
void to_each(const fs::path& folder, void (*change)(const fs::path&)) {
  for (const char* name : checkpoints) change(folder / name);
}

struct Pair {
  std::string name;
  std::function<void(const fs::path& folder)> prepare;  ///< called after a run that saved three checkpoints there
  std::string resume;
  std::optional<std::int64_t> stop_after;
  std::string data;  ///< lines for [data] and [train] that replace the usual ones
  int code;
  std::string said;
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.name;
}

const std::string usual = "lengths = [9, 4]\n[train]\nsteps = 3\n";
void nothing(const fs::path& /*folder*/) {}
void no_place_for_latest(const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder / "latest/x");
}

const std::vector<Pair> pairs{
    {"latest_all_damaged",
     [](const fs::path& c) { to_each(c, flip_a_bit); },
     "latest",
     {},
     usual,
     2,
     "there is no earlier checkpoint"},
    {"latest_all_lost",
     [](const fs::path& c) { to_each(c, lose); },
     "latest",
     {},
     usual,
     2,
     "there is no earlier checkpoint"},
    {"latest_all_of_other_models",
     [](const fs::path& c) { to_each(c, take_another_config); },
     "latest",
     {},
     usual,
     2,
     "is not what was written with the checkpoint"},
    {"latest_only_the_link_left",
     [](const fs::path& c) { to_each(c, [](const fs::path& each) { fs::remove_all(each); }); },
     "latest",
     {},
     usual,
     2,
     "there is no earlier checkpoint"},
    {"damaged_before_it_unfit",
     [](const fs::path& c) {
       flip_a_bit(c / checkpoints[2]);
       of_another_training(c / checkpoints[1]);
     },
     "latest",
     {},
     usual,
     2,
     "was trained with train.seed = 7"},
    {"newest_lost",
     [](const fs::path& c) { lose(c / checkpoints[2]); },
     "latest",
     {},
     usual,
     0,
     "step-00000003: has no checkpoint.json, which is written last: it is an incomplete checkpoint, or none; resuming "
     "from the "
     "previous checkpoint"},
    {"newest_without_config",
     [](const fs::path& c) { fs::remove(c / checkpoints[2] / "config.json"); },
     "latest",
     {},
     usual,
     0,
     "config.json"},
    {"stop_save_fails", no_place_for_latest, "none", 2, usual, 3, "the last checkpoint could not be saved"},
    {"stop_at_the_end_save_fails", no_place_for_latest, "none", 3, usual, 3, "the last checkpoint could not be saved"},
    {"stop_made_already", nothing, "latest", 2, usual, 0, "none is left to train; raise --stop-after"},
    {"resumed_shortened", nothing, "latest", {}, "lengths = [9, 4]\n[train]\nsteps = 2\n", 2, "has made 3 steps, but"},
    {"masked_length_1",
     [](const fs::path& c) { fs::remove_all(c); },
     "none",
     {},
     "lengths = [1, 4]\nmasked = [0]\n[train]\nsteps = 3\n",
     0,
     ""},
};

class RarePairs : public ::testing::TestWithParam<std::tuple<int, Pair>> {
 protected:
  fs::path run_file(const std::string& data) {
    return folder_.file("run.toml", "[model]\nconfig = \"" + testing::fixtures_path() +
                                        "/models/stories260k/config.json\"\n[data]\ntext = \"" +
                                        testing::fixtures_path() + "/corpus/\"\n" + data);
  }
  int train(const std::string& data, const CheckpointOptions& checkpoint) {
    int code = 0;
    const auto failed =
        failure_of([&] { code = train_on(std::get<0>(GetParam()), run_file(data), checkpoint, "1f1b"); });
    if (!failed) return code;
    std::fprintf(stderr, "%s\n", failed->words.c_str());
    return static_cast<int>(failed->code);
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& each : fs::recursive_directory_iterator(folder_ / "c")) {
      if (each.is_regular_file()) all[each.path().string()] = testing::bytes_of(each.path());
    }
    return all;
  }

  testing::TemporaryFolder folder_;
};

TEST_P(RarePairs, EndAsSpecified) {
  const Pair& pair = std::get<1>(GetParam());
  CheckpointOptions saving;
  saving.folder = folder_ / "c";
  saving.every = 1;
  ASSERT_EQ(train(usual, saving), 0);
  pair.prepare(folder_ / "c");
  const auto before = fs::exists(folder_ / "c") ? files() : std::map<std::string, std::string>();

  saving.resume = pair.resume;
  saving.stop_after = pair.stop_after;
  ::testing::internal::CaptureStderr();
  const int code = train(pair.data, saving);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, pair.code) << said;
  EXPECT_THAT(said, HasSubstr(pair.said));
  EXPECT_THAT(said, Not(HasSubstr("stopped after")));
  if (code == 2) {
    EXPECT_EQ(files(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RarePairs,
                         ::testing::Combine(::testing::Values(reference_alone, 2), ::testing::ValuesIn(pairs)),
                         [](const auto& each) {
                           return std::get<1>(each.param).name + "_on" + std::to_string(std::get<0>(each.param));
                         });

}  // namespace
}  // namespace plumbline
