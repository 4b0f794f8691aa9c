// SPDX-License-Identifier: BSD-3-Clause
// The keys that must agree in two manifests of the same training.
#include "harness/judge/comparability.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/harness/judge/manifests.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;

/// Changes to the reference (r), the candidate (c) and both (b), one on each line.
struct Changes {
  explicit Changes(const std::string& input) {
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
      if (line.front() != 'c') reference += line.substr(2) + "\n";
      if (line.front() != 'r') candidate += line.substr(2) + "\n";
    }
  }
  std::string reference, candidate;
};

/// Expects as many lines after swapping the changes of both records; a single line must have its values swapped.
void expect_mirrored(const std::string& answer, const std::string& exchanged) {
  static const std::regex values("^(.* is )(.*)( in the reference and )(.*)( in the candidate.*)$");
  EXPECT_EQ(std::ranges::count(exchanged, '\n'), std::ranges::count(answer, '\n')) << exchanged;
  EXPECT_EQ(exchanged == "comparable", answer == "comparable") << exchanged;
  if (std::regex_match(answer, values)) {
    EXPECT_EQ(exchanged, std::regex_replace(answer, values, "$1$4$3$2$5"));
  }
}

/// Why they cannot be compared, one reason on each line.
std::string answer_of(const Record& reference, const Record& candidate) {
  std::string words;
  for (const auto& why : why_not_comparable(reference, candidate)) words += (words.empty() ? "" : "\n") + why;
  for (const auto& key : keys_not_judged(reference.manifest, candidate.manifest))
    words += (words.empty() ? "" : "\n") + ("not judged: " + key);
  return words.empty() ? "comparable" : words;
}

Record record_of(const SyntheticRun& run, const std::string& changes) {
  Record record;
  record.manifest = parse_manifest("manifest.json", changed(run.manifest, changes));
  record.first_step = record.manifest.first_step;
  return record;
}

TEST(Comparability, ChangedManifestsAreComparedAsApproved) {
  const SyntheticRun one = synthetic_reference({}), other = synthetic_candidate({});
  expect_answers("comparability.txt", [&](const std::string& input) {
    const Changes changes(input);
    try {
      const std::string answer = answer_of(record_of(one, changes.reference), record_of(other, changes.candidate));
      SCOPED_TRACE(input);
      expect_mirrored(answer, answer_of(record_of(one, changes.candidate), record_of(other, changes.reference)));
      return answer;
    } catch (const InputError& error) {
      return "not a manifest: " + std::string(error.what());
    }
  });
}

/// Whether both records were made by the same kernels, by the same torch, and on GPUs of one model.
TEST(Kernels, OfChangedManifestsAreComparedAsApproved) {
  const SyntheticRun one = synthetic_reference({}), other = synthetic_candidate({});
  expect_answers("kernels.txt", [&](const std::string& input) {
    const Changes changes(input);
    const Manifest reference = record_of(one, changes.reference).manifest;
    const Manifest candidate = record_of(other, changes.candidate).manifest;
    const auto why = why_other_kernels(reference, candidate), torch = why_other_torch(reference, candidate);
    std::string text = why ? "other kernels: " + *why : "nothing known to differ";
    if (torch) text += "\nother torch: " + *torch;
    if (several_gpu_models(reference)) text += "\nthe reference has several GPU models";
    return text;
  });
}

TEST(Comparability, EqualManifestsAreComparable) {
  EXPECT_THAT(why_not_comparable(reference_manifest(), candidate_manifest()), IsEmpty());
}

TEST(Comparability, NullCountsAsAbsent) {
  Record null = candidate_manifest();
  for (const char* key : {"rope_scaling", "rope_parameters", "hidden_act", "attention_bias"})
    null.manifest.json["model"][key] = nullptr;
  null.manifest.json["optimizer"]["decay"] = nullptr;
  null.manifest.json["threads"] = nullptr;

  EXPECT_THAT(why_not_comparable(reference_manifest({{"threads", 2}}), null), IsEmpty());
}

TEST(Comparability, OtherDevicesMayBeComparedWithinLimits) {
  const Record cpu = reference_manifest(), gpu = candidate_manifest({{"device", "cuda:0"}});
  EXPECT_THAT(why_not_comparable(cpu, gpu), SizeIs(2));
  EXPECT_THAT(why_not_comparable(cpu, gpu, ComparisonMode::calibrated), IsEmpty());
}

TEST(Comparability, LimitsApplyOnlyToWholeRuns) {
  const Json resumed = {{"first_step", 1}, {"resumed_from", {{"run_id", "before"}, {"step", 1}}}};
  EXPECT_THAT(why_not_comparable(reference_manifest(resumed), candidate_manifest(resumed), ComparisonMode::calibrated),
              ElementsAre(::testing::StartsWith("the candidate resumes a run at step 1")));
}

}  // namespace
}  // namespace plumbline::testing
