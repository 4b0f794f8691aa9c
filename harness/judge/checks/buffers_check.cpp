// SPDX-License-Identifier: BSD-3-Clause
// buffers (R5): the persistent buffers of the model, at the start and after each step.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/tensor_comparison.hpp"
#include "support/elements.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class BuffersCheck : public StepCheck {
 public:
  explicit BuffersCheck(const CellEvidence& evidence) : StepCheck(evidence, {"buffers", "R5", "0 ULP"}) {}

  void step(const StepEvidence& now) override {
    const Rows theirs = buffers_of(now.reference_rows), mine = buffers_of(now.candidate_rows);
    if (theirs.empty() && mine.empty()) return;
    if (theirs.empty() || mine.empty()) {
      only_in_ = theirs.empty() ? "candidate" : "reference";
      return;
    }
    std::map<std::string, std::pair<std::int64_t, const TensorRow*>> expected;
    for (const auto& placed : theirs) expected.emplace(placed.row->name, std::pair(std::ssize(expected), placed.row));
    std::set<std::string> seen;
    for (const auto& placed : mine) {
      const auto found = expected.find(placed.row->name);
      seen.insert(placed.row->name);
      if (found == expected.end())
        report(now.step, std::ssize(expected), placed, "no such buffer", "a row",
               "the reference has none of this name");
      else
        compare(now.step, found->second.first, *found->second.second, placed);
    }
    for (const auto& placed : theirs) {
      if (seen.insert(placed.row->name).second && recorded(evidence_.candidate))
        report(now.step, expected.at(placed.row->name).first, placed, "a row", "none", "no stage has it");
    }
  }

  LocatedResult conclude() override {
    if (!only_in_.empty())
      return builder_.conclude_as(Outcome::not_run,
                                  fmt::format("only the {} has buffers; where stages are given by hand, give theirs by "
                                              "record.stage(..., buffers=)",
                                              only_in_));
    if (builder_.count("buffers") == 0 && evidence_.not_recorded.empty())
      return builder_.conclude_as(Outcome::not_applicable, "neither record has persistent buffers");
    return builder_.conclude("the persistent buffers, at the start and after each step, are the same bits", {});
  }

 private:
  using Rows = std::vector<Located<TensorRow>>;

  static Rows buffers_of(const RecordIndex& rows) {
    Rows buffers;
    std::ranges::copy_if(rows.all_tensors(), std::back_inserter(buffers),
                         [](const auto& placed) { return placed.row->kind == "buffer"; });
    return buffers;
  }

  static bool recorded(const Record& record) { return record.manifest.recorded({"buffers"}); }

  void compare(std::int64_t step, std::int64_t position, const TensorRow& theirs, const Located<TensorRow>& placed) {
    const TensorRow& mine = *placed.row;
    builder_.compare("buffers");
    builder_.compare("elements", element_count(mine.shape));
    if (mine.dtype != theirs.dtype)
      return report(step, position, placed, theirs.dtype, mine.dtype, "the dtype differs");
    if (mine.shape != theirs.shape)
      return report(step, position, placed, shape_text(theirs.shape), shape_text(mine.shape), "the shape differs");
    if (mine.digest != theirs.digest) report(step, position, placed, theirs.digest, mine.digest, "the bits differ");
  }

  void report(std::int64_t step, std::int64_t position, const Located<TensorRow>& placed, const std::string& expected,
              const std::string& got, const std::string& why) {
    builder_.diverge(tensor_point(step, "buffer", position, placed.row->stage), {.step = step,
                                                                                 .stage = placed.row->stage,
                                                                                 .rank = placed.rank,
                                                                                 .item = placed.row->name,
                                                                                 .what = "buffer " + placed.row->name,
                                                                                 .expected = expected,
                                                                                 .got = got,
                                                                                 .why = why});
  }

  std::string only_in_;  ///< the record that alone has buffers
};

}  // namespace

CheckDescriptor buffers_check() {
  return {.name = "buffers",
          .place = 108,
          .claims =
              "every persistent buffer of the model (running statistics, counters, an expert's bias) has the "
              "same bits at the start and after each step.",
          .needs_in_words = "level full; external records whose models have persistent buffers.",
          .cannot_see = "buffers that are not persistent.",
          .level = RecordLevel::full,
          .same_start = true,
          .of_every_case = true,
          .values = Values::of_update,
          .compares_without = {"buffers"},
          .make = make_check<BuffersCheck>};
}

}  // namespace plumbline::judging
