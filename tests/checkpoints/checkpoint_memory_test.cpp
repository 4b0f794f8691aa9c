// SPDX-License-Identifier: BSD-3-Clause
// Memory that saving and loading take in addition to the state, and what a rank reads of a checkpoint.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "model/unit.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/checkpoint/checkpoint_save.hpp"
#include "training/checkpoint/load_checkpoint.hpp"
#include "training/memory_meter.hpp"
#include "training/memory_plan.hpp"
#include "training/model_slice.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;

/// A rank's part of a model, with moments.
struct Part {
  Part(const plumbline::Run& run, UnitRange units)
      : slice(make_slice(run, units)), state(run.train.optimizer, slice.parameters()) {
    const MemoryScope scope(MemoryOwner::other);
    set_initial_values(slice, run.file);
  }
  /// Bytes of its parameters as saved.
  std::int64_t largest() const {
    std::int64_t bytes = 0;
    for (const TrainedParameter& each : state.parameters) {
      bytes = std::max(bytes, static_cast<std::int64_t>(each.trained().nbytes()));
    }
    return bytes;
  }

  LlamaSlice slice;
  TrainState state;
};

class CheckpointMemory : public ::testing::TestWithParam<const char*> {
 protected:
  CheckpointMemory() {
    install_memory_meter();
    meter_.attach();
  }

  plumbline::Run made_run() {
    return load_run(folder_.file(
        "run.toml", testing::run_text("lengths = [4]\n", "steps = 3\nprecision = \"" + std::string(GetParam()) + "\"\n",
                                      "untied-128")));
  }

  /// Largest increase of the bytes of all owners during `body`.
  template <typename Body>
  std::int64_t most_more(Body body) {
    const std::int64_t before = meter_.total().live;
    meter_.reset_total_peak();
    body();
    EXPECT_EQ(meter_.total().live, before) << "all of it is freed";
    return meter_.total().peak - before;
  }

  fs::path save(const plumbline::Run& run, Part& part, bool in_background = false) {
    part.state.step = 1;
    make_folder(folder_ / "c");
    CheckpointSave saving(folder_ / "c", run, alone_);
    saving.start(part.state, in_background);
    saving.finish();
    EXPECT_EQ(saving.failure(), std::nullopt);
    return checkpoint_path(folder_ / "c", 1);
  }

  testing::TemporaryFolder folder_;
  MemoryMeter& meter_ = new_memory_meter();
  RankGroup alone_;
};

TEST_P(CheckpointMemory, SavingAddsTheBytesOfOneTensor) {
  const plumbline::Run run = made_run();
  Part part(run, all_units(run.config));
  EXPECT_LE(most_more([&] { save(run, part); }), part.largest());
}

TEST_P(CheckpointMemory, SavingInTheBackgroundAddsTheCopyThatIsPlanned) {
  const plumbline::Run run = made_run();
  Part part(run, all_units(run.config));
  EXPECT_EQ(most_more([&] { save(run, part, true); }),
            plan_state(run.config, {all_units(run.config)}, run.train, true).checkpoint);
}

TEST_P(CheckpointMemory, LoadingAllocatesOneTensorAtATime) {
  const plumbline::Run run = made_run();
  Part whole(run, all_units(run.config));
  const fs::path checkpoint = save(run, whole);
  for (const UnitRange units : {UnitRange{2, 3}, UnitRange{5, 6}}) {  // a layer; the norm, of a few hundred bytes
    Part part(run, units);
    const std::int64_t elements = part.largest() / part.state.parameters.front().trained().element_size();
    constexpr std::int64_t flags =
        3;  // bytes per element: the finite flags, and the temporaries they are computed from
    EXPECT_LE(most_more([&] { load_checkpoint(checkpoint, run, part.state); }), part.largest() + flags * elements)
        << units.first;
  }
}

/// Changes the bytes of one tensor.
void spoil(const fs::path& file, const std::string& name) {
  std::string bytes = read_file(file);
  std::size_t at = 0;
  {
    const SafetensorsFile tensors(file);
    const auto& entry = tensors.at(name);
    at = bytes.find(std::string_view(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()));
  }
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_P(CheckpointMemory, LoadingReadsOnlyTheRanksOwnTensors) {
  const plumbline::Run run = made_run();
  Part whole(run, all_units(run.config));
  const fs::path checkpoint = save(run, whole);
  spoil(checkpoint / "model-00001-of-00001.safetensors", "model.layers.3.mlp.up_proj.weight");
  Part other(run, {2, 3}), owner(run, {4, 5});

  EXPECT_NO_THROW(load_checkpoint(checkpoint, run, other.state));
  EXPECT_THAT(error_of<InputError>([&] { load_checkpoint(checkpoint, run, owner.state); }),
              HasSubstr("model.layers.3.mlp.up_proj.weight: is not what was written"));
}

INSTANTIATE_TEST_SUITE_P(, CheckpointMemory, ::testing::Values("float32", "float64", "bfloat16", "mixed"),
                         [](const auto& precision) { return std::string(precision.param); });

}  // namespace
}  // namespace plumbline
