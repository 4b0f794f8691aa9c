// SPDX-License-Identifier: BSD-3-Clause
// Planted faults, dumped as a failing cell's second run is: each must leave the trace that is known for it, and none
// another's.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "harness/judge/judge.hpp"
#include "harness/sweep/fault_signatures/fault_signatures.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct DumpedCanary {
  std::string name;
  std::string fault;
  std::string fingerprint;  ///< a pattern; empty: none is known for it, and none is to be told
  std::string run = "canary-untied";
  int world = 3;
  std::string schedule = "1f1b";
};

std::string dumped_name(const ::testing::TestParamInfo<DumpedCanary>& tested) {
  return tested.param.name;
}

void PrintTo(const DumpedCanary& canary, std::ostream* out) {
  *out << canary.name;
}

fs::path new_folder(const std::string& name) {
  const fs::path path = fs::path(PLUMBLINE_CANARY_OUT) / "fingerprints" / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

/// The fixture's run at level dump, its paths made absolute.
fs::path dumping_run(const std::string& run, const fs::path& folder) {
  std::string text = read_file(fs::path(PLUMBLINE_FIXTURES) / "runs" / (run + ".toml"));
  for (auto at = text.find("../"); at != std::string::npos; at = text.find("../", at))
    text.replace(at, 3, PLUMBLINE_FIXTURES "/");
  const fs::path file = folder / "run.toml";
  write_file(file, text + "\n[record]\nlevel = \"dump\"\n");
  return file;
}

int execute_dumping(const std::string& program, const std::string& arguments, const fs::path& folder) {
  return std::system((std::string(PLUMBLINE_BIN) + "/" + program + " " + arguments + " --quiet > " +
                      (folder / "output").string() + " 2>&1")
                         .c_str());
}

/// One a run, shared by all canaries of this process.
fs::path dumped_reference(const std::string& run) {
  static std::map<std::string, fs::path> made;
  if (!made.contains(run)) {
    const fs::path folder = new_folder("reference-" + run);
    EXPECT_EQ(execute_dumping(
                  "plumbline-reference",
                  dumping_run(run, folder).string() + " --dump-microbatches 0 --record " + (folder / "record").string(),
                  folder),
              0)
        << "see " << folder / "output";
    made[run] = folder / "record";
  }
  return made[run];
}

class DumpedCanaries : public ::testing::TestWithParam<DumpedCanary> {};

TEST_P(DumpedCanaries, LeaveTheirFingerprint) {
  const DumpedCanary& canary = GetParam();
  const fs::path folder = new_folder(canary.name), record = folder / "record";
  execute_dumping("plumbline-mutant",
                  "--fault " + canary.fault + " " + dumping_run(canary.run, folder).string() +
                      " --transport threads --world " + std::to_string(canary.world) + " --schedule " +
                      canary.schedule + " --record " + record.string(),
                  folder);
  CellPlan plan;
  plan.run = canary.run;
  plan.world = canary.world;
  plan.schedule = canary.schedule;
  plan.optimizer = "sgd";
  const CellVerdict verdict = judge_cell(plan, dumped_reference(canary.run), record);
  ASSERT_TRUE(verdict.first_divergence) << "see " << folder / "output";

  const auto values = find_fault_signatures(*verdict.first_divergence, dumped_reference(canary.run), record);

  ASSERT_TRUE(values);
  std::vector<std::string> names;
  for (const FaultSignature& each : values->fault_signatures) names.push_back(each.name);
  const std::string told = verdict.first_divergence->words + "\n" + to_text(*values);
  if (canary.fingerprint.empty()) {
    EXPECT_THAT(names, ::testing::IsEmpty()) << told;
  } else {
    EXPECT_THAT(names, ::testing::Contains(::testing::MatchesRegex(canary.fingerprint))) << told;
  }
  RecordProperty("words", to_text(*values));
}

INSTANTIATE_TEST_SUITE_P(
    Values, DumpedCanaries,
    ::testing::Values(
        DumpedCanary{.name = "G1_loss_not_scaled", .fault = "G1@rank=2", .fingerprint = "not_scaled"},
        DumpedCanary{
            .name = "G10_last_microbatch_alone", .fault = "G10@rank=1,step=0", .fingerprint = "one_microbatch_only"},
        DumpedCanary{.name = "G11_weights_of_a_microbatch_twice",
                     .fault = "G11@rank=1,microbatch=5,step=0",
                     .fingerprint = "microbatch_twice",
                     .schedule = "zb-h1"},
        DumpedCanary{.name = "C8_dropped", .fault = "C8@rank=1,microbatch=4", .fingerprint = "zero"},
        DumpedCanary{.name = "C9_narrowed", .fault = "C9@rank=1,microbatch=5", .fingerprint = "narrowed_on_the_wire"},
        DumpedCanary{
            .name = "C10_token_lost", .fault = "C10z@rank=0,microbatch=1", .fingerprint = "changed_on_the_wire"},
        DumpedCanary{.name = "C11_swapped",
                     .fault = "C11h@rank=0,microbatch=4",
                     .fingerprint = "another_microbatch",
                     .schedule = "afab"},
        DumpedCanary{.name = "G2_scaled_with_each", .fault = "G2@rank=1", .fingerprint = ""},
        DumpedCanary{.name = "G3_not_by_tokens", .fault = "G3@rank=2", .fingerprint = "not_normalised_by_tokens"},
        DumpedCanary{.name = "G4_mean_of_means", .fault = "G4@rank=2", .fingerprint = ""},
        DumpedCanary{.name = "G5_wiped", .fault = "G5@rank=1", .fingerprint = "one_microbatch_only"},
        DumpedCanary{.name = "C5_half_come", .fault = "C5@rank=1,microbatch=5", .fingerprint = "changed_on_the_wire"},
        DumpedCanary{.name = "C12_microbatch_before", .fault = "C12@rank=1,microbatch=5", .fingerprint = ""},
        DumpedCanary{.name = "H3_bit", .fault = "H3@rank=1,microbatch=6", .fingerprint = "one_bit"},
        DumpedCanary{.name = "H3b_bit", .fault = "H3b@rank=1,microbatch=6", .fingerprint = "one_bit"},
        DumpedCanary{.name = "NaN", .fault = "NaN@rank=1,microbatch=4", .fingerprint = "not_finite"},
        DumpedCanary{.name = "M4_normalised", .fault = "M4@rank=1", .fingerprint = ""},
        DumpedCanary{.name = "U5_parameter", .fault = "U5@rank=1,step=1", .fingerprint = "one_bit|one_element"},
        DumpedCanary{.name = "U2_one_ulp", .fault = "U2@rank=1,microbatch=5", .fingerprint = "one_element"},
        // One ULP is one bit, or several where it carries: that depends on the processor's bits.
        DumpedCanary{.name = "U3_one_ulp_of_a_gradient",
                     .fault = "U3@rank=1,microbatch=7,step=1",
                     .fingerprint = "one_bit|one_element"}),
    dumped_name);

}  // namespace
}  // namespace plumbline
