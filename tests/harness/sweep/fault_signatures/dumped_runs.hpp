// SPDX-License-Identifier: BSD-3-Clause
// Dumps of one step of a reference and a candidate that agree. Tests change values in them and check the reported fault
// signatures.
#pragma once

#include <map>
#include <span>

#include "harness/sweep/fault_signatures/fault_signatures.hpp"
#include "record/rank_folder.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

using Values = std::vector<float>;
using Tensors = std::map<std::string, Values>;  ///< by key

inline std::string crossing(const std::string& direction, int microbatch, const std::string& side,
                            const std::string& cut = "layers.1") {
  return "boundary/" + direction + "/" + std::to_string(microbatch) + "/" + cut + "/" + side;
}

inline Values times(Values values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}
inline Values plus(Values values, const Values& others) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += others[i];
  return values;
}

inline std::vector<std::string> names_of(const std::vector<FaultSignature>& all) {
  std::vector<std::string> names;
  for (const FaultSignature& each : all) names.push_back(each.name);
  return names;
}

inline void write_dump(const std::filesystem::path& record, std::size_t rank, std::int64_t step,
                       const Tensors& tensors) {
  const std::filesystem::path path = record / rank_folder(rank) / "dumps" / dump_file_name(step);
  make_folder(path.parent_path());
  std::vector<NamedBytes> named;
  for (const auto& [key, values] : tensors)
    named.push_back({key, {"float32", {std::ssize(values)}, std::as_bytes(std::span(values))}});
  write_safetensors(path, named);
}

/// Two stages on two ranks, four microbatches, 24 valid tokens. The reference's tensors have different magnitudes, so
/// that none is a multiple of another.
class DumpedRunsTest : public ::testing::Test {
 protected:
  DumpedRunsTest() {
    facts_.microbatches = 4;
    facts_.valid_tokens = 24;
    facts_.stage_of = ranks_of_;
    for (int microbatch = 0; microbatch < 4; ++microbatch) {
      const auto m = static_cast<float>(microbatch + 1);
      for (const char* direction : {"forward", "backward"}) {
        const bool forward = std::string(direction) == "forward";
        const Values backward_values{1.25F * m, -3.5F + m, 0.1F * m * m, 7.75F - 2 * m, 1.1F, 2.3F};
        const Values values = forward ? times(backward_values, -3) : backward_values;
        reference_[crossing(direction, microbatch, "computed")] = values;
        ranks_[forward ? 0 : 1][crossing(direction, microbatch, "send")] = values;
        ranks_[forward ? 1 : 0][crossing(direction, microbatch, "receive")] = values;
      }
    }
    const std::map<std::string, Values> gradients{{"embed", {0.5F, -1.5F, 2.25F, 0.01F}},
                                                  {"a", {3.1F, 0.2F, -0.7F, 1.9F}},
                                                  {"b", {-0.3F, 0.9F, 1.3F, -2.1F}},
                                                  {"head", {0.11F, 0.7F, -0.05F, 4.3F}}};
    for (const auto& [name, values] : gradients) {
      reference_["gradient/" + name] = gradient(name) = values;
    }
    first_.step = 1;
  }

  std::size_t rank_of(const std::string& name) const { return static_cast<std::size_t>(ranks_of_.at(name)); }
  Values& gradient(const std::string& name) { return ranks_[rank_of(name)]["gradient/" + name]; }
  Values& sent(int microbatch) { return ranks_[1][crossing("backward", microbatch, "send")]; }
  Values& received(int microbatch) { return ranks_[0][crossing("backward", microbatch, "receive")]; }
  const Values& right(int microbatch) { return reference_[crossing("backward", microbatch, "computed")]; }
  void both(int microbatch, const Values& values) { sent(microbatch) = received(microbatch) = values; }
  void scale_all(float factor) {
    for (const char* name : {"embed", "a", "b", "head"}) gradient(name) = times(gradient(name), factor);
  }

  /// A microbatch's contribution to a gradient; the last one has the rest, and number 2 nothing.
  Values part(const std::string& name, int microbatch) const {
    const Values first{0.3F, -0.9F, 1.5F, 0.2F}, second{-1.2F, 0.4F, 0.1F, 2.5F};
    if (microbatch == 0) return first;
    if (microbatch == 1) return second;
    if (microbatch == 2) return {0, 0, 0, 0};
    return plus(plus(reference_.at("gradient/" + name), times(first, -1)), times(second, -1));
  }
  void dump_after_each_microbatch() {
    for (const char* name : {"embed", "a", "b", "head"}) {
      Values sum{0, 0, 0, 0};
      for (int microbatch = 0; microbatch < 4; ++microbatch) {
        const Values own = part(name, microbatch);
        sum = plus(sum, own);
        reference_["gradient_after/" + std::to_string(microbatch) + "/" + name] =
            facts_.sums_microbatches_apart ? own : sum;
      }
    }
  }

  /// All signatures of this setup.
  std::vector<FaultSignature> found() {
    const std::filesystem::path one = folder_ / "one", other = folder_ / "other";
    write_dump(one, 0, 1, reference_);
    for (const std::size_t rank : {0U, 1U}) write_dump(other, rank, 1, ranks_[rank]);
    const DumpedStep alone(one, 1), piped(other, 1);
    const DumpedRuns runs{alone, piped, facts_};
    auto all = boundary_signatures(runs, first_);
    for (const auto& each : gradient_signatures(runs)) all.push_back(each);
    for (const auto& each : microbatch_signatures(runs)) all.push_back(each);
    return all;
  }
  std::vector<FaultSignature> found_at_the_cut(std::optional<std::int64_t> microbatch = 0) {
    if (first_.direction.empty()) first_.direction = "backward";
    first_.item = "layers.1";
    first_.microbatch = microbatch;
    return found();
  }

  TemporaryFolder folder_;
  StepFacts facts_;
  Finding first_;
  /// Rank of each parameter, also its stage unless a test changes it.
  const std::map<std::string, std::int64_t> ranks_of_ = {{"embed", 0}, {"a", 0}, {"b", 1}, {"head", 1}};
  Tensors reference_;
  Tensors ranks_[2];
};

}  // namespace plumbline::testing
