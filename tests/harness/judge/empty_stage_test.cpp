// SPDX-License-Identifier: BSD-3-Clause
// Ranks without a unit of the model, and microbatches of different lengths: which claim finds what is wrong with them.
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

/// Stage 1 of three has no unit: it hands on what it receives.
struct Fault {
  const char* name;
  void (*change)(SyntheticCell&);
  const char* claim;
};

void erase_boundaries(SyntheticCell& cell, const std::string& side) {
  std::erase_if(cell.candidate.ranks[1].boundaries,
                [&](const BoundaryRow& row) { return row.step == 1 && row.microbatch == 2 && row.side == side; });
}

BoundaryRow& sent_by_empty(SyntheticCell& cell, const std::string& direction) {
  for (auto& row : cell.candidate.ranks[1].boundaries)
    if (row.step == 1 && row.microbatch == 2 && row.direction == direction && row.side == "send") return row;
  throw std::logic_error("lacks this row");
}

class EmptyStage : public ::testing::TestWithParam<Fault> {};

TEST_P(EmptyStage, ThatIsWrongIsFound) {
  SyntheticCell cell(with_empty_stage());
  GetParam().change(cell);
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), ::testing::Contains(GetParam().claim));
}

INSTANTIATE_TEST_SUITE_P(
    Each, EmptyStage,
    ::testing::Values(
        Fault{"Weights", [](auto& cell) { cell.candidate.ranks[1].memory[1].parameter_bytes = 4; }, "memory"},
        Fault{"Gradients", [](auto& cell) { cell.candidate.ranks[1].memory[1].gradient_bytes = 4; }, "memory"},
        Fault{"Moments", [](auto& cell) { cell.candidate.ranks[1].memory[1].optimizer_bytes = 8; }, "memory"},
        Fault{"Activations", [](auto& cell) { *cell.candidate.ranks[1].memory[1].activation_peak_bytes += 4; },
              "memory"},
        Fault{"AParameter",
              [](auto& cell) {
                auto row = tensor_row(cell.candidate, 1, "parameter", "model.norm.weight");
                row.stage = 1;
                cell.candidate.ranks[1].tensors.push_back(row);
              },
              "parameters"},
        Fault{"AGradient",
              [](auto& cell) {
                auto row = tensor_row(cell.candidate, 1, "gradient", "model.norm.weight");
                row.stage = 1;
                cell.candidate.ranks[1].tensors.push_back(row);
              },
              "gradients"},
        Fault{"AnotherBitForward", [](auto& cell) { sent_by_empty(cell, "forward").digest = other_digest; },
              "boundaries"},
        Fault{"AnotherBitBackward", [](auto& cell) { sent_by_empty(cell, "backward").digest = other_digest; },
              "boundaries"},
        Fault{"AnotherShape",
              [](auto& cell) {
                sent_by_empty(cell, "forward").shape = {4, 1, 4};
              },
              "boundaries"},
        Fault{"NothingHandedOn", [](auto& cell) { erase_boundaries(cell, "send"); }, "boundaries"},
        Fault{"NothingThatCameIn", [](auto& cell) { erase_boundaries(cell, "receive"); }, "boundaries"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(EmptyStages, BeforeTheFirstUnitHandNothingOn) {
  SyntheticCell cell({.stages = {{}, {"embed_tokens", "layers.0"}, {"layers.1", "norm", "lm_head"}}});
  cell.candidate.erase(&RankRecord::boundaries, [](const BoundaryRow& row) { return row.cut == "embed_tokens"; });

  EXPECT_FALSE(result_of(cell.judge(), "boundaries").evidence.contains("crossings_of_empty_stages"));
}

TEST(EmptyStages, HandOnTheSameBitsAlsoWhereTheReferenceHasNoTensor) {
  for (const std::string direction : {"right", "forward", "backward"}) {
    SyntheticCell cell(with_empty_stage());
    cell.reference = synthetic_candidate({.stages = {{"embed_tokens"}, {"layers.0", "layers.1", "norm", "lm_head"}}});
    cell.reference.manifest["run_id"] = new_run_id();
    for (ActionRow& row : cell.reference.rows(&RankRecord::actions)) row.end_ns += 1;  // no copy of the candidate
    if (direction == "right") {
      EXPECT_NE(result_of(cell.judge(), "boundaries").outcome, Outcome::differs);
      continue;
    }
    const BoundaryRow sent = sent_by_empty(cell, direction);
    for (BoundaryRow& row : cell.candidate.rows(&RankRecord::boundaries)) {
      if (row.step == sent.step && row.microbatch == sent.microbatch && row.direction == direction &&
          row.from_stage == sent.from_stage && row.to_stage == sent.to_stage)
        row.digest = other_digest;  // as sent and as received
    }
    expect_finding(result_of(cell.judge(), "boundaries").first_divergence.value(),
                   {.step = 1, .microbatch = 2, .rank = 1, .direction = direction});
  }
}

TEST(Lengths, AShapeOfAnotherMicrobatchInBothRecordsIsFound) {
  for (const bool external : {false, true}) {
    SyntheticCell cell;
    for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
      if (external) run->manifest["role"] = "external";
      for (BoundaryRow& row : run->rows(&RankRecord::boundaries)) {
        if (row.step == 0 && row.microbatch == 2 && row.direction == "forward" && row.cut == "layers.1")
          row.shape = {1, 3, 4}, row.bytes = 48;
      }
    }

    expect_finding(
        result_of(cell.judge(), "boundaries").first_divergence.value(),
        {.microbatch = 2, .direction = "forward", .words = "not the shape of its microbatch (expected 1x4x4"});
  }
}

}  // namespace
}  // namespace plumbline::testing
