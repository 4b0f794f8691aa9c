// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/commands.hpp"
#include "harness/judge/judge.hpp"
#include "support/error.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

TEST(RecordShow, AResumedRunShowsItsFirstStep) {
  SyntheticCell cell;
  begin_with_second_step(cell.candidate);

  EXPECT_THAT(shown_record(cell.write_candidate()),
              AllOf(HasSubstr("2 ranks, 1 steps of 5 microbatches"),
                    HasSubstr("begins          with step 1 of 2, resuming run the run before\n")));
}

TEST(RecordShow, AReplicaShowsItsPlace) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.manifest["schedule"]["digest"] = nullptr;
  cell.candidate.manifest["mesh"] = mesh_json({{"dp", 2}, {"pp", 2}}, {{0, 2}, {1, 3}}, 1);

  const auto record = cell.write_candidate();
  std::filesystem::remove(record / "schedule.csv");

  EXPECT_THAT(shown_record(record),
              AllOf(HasSubstr("mesh            dp 1 (replica 1), ranks 1, 3 of the run; axes dp 2 (replicate), "
                              "pp 2 (pipeline)\n"),
                    HasSubstr("schedule        1f1b (no schedule.csv), gradients summed ascending\n")));
}

TEST(RecordShow, ShowsClippingTiedFrozenAndMissing) {
  SyntheticCell cell;
  cell.candidate.manifest["clip_norm"] = nullptr;
  EXPECT_THAT(shown_record(cell.write_candidate()), HasSubstr("clipping        none\n"));

  SyntheticCell other;
  other.candidate.manifest["role"] = "external";
  other.candidate.manifest["clip_norm"] = 0.5;
  other.candidate.manifest["norm_order"] = "per_rank";
  other.candidate.manifest["clip_epsilon"] = 0.25;
  EXPECT_THAT(shown_record(other.write_candidate()),
              HasSubstr("clipping        0.5, epsilon 0.25, of a norm summed rank by rank\n"));
}

TEST(RecordShow, CountsEachRanksRowsAndNamesNoTableWithoutAny) {
  SyntheticCell cell;
  const std::string text = shown_record(cell.write_candidate());

  EXPECT_THAT(text, AllOf(HasSubstr("pipeline, plumbline-record/2"), HasSubstr("2 ranks, 2 steps of 5 microbatches"),
                          HasSubstr("rank 1: layers.1, norm, lm_head")));
  for (const RankRecord& rank : cell.candidate.ranks) {
    ASSERT_NE(rank.traffic.size(), rank.boundaries.size()) << "or one could stand for the other";
    const auto of = [](const auto& rows, const char* table) {
      return std::to_string(rows.size()) + " " + table + ".csv";
    };
    EXPECT_THAT(
        text, HasSubstr("rank " + std::to_string(rank.rank) + "          ok, code 0; 2 whole steps\n  rows          " +
                        of(rank.actions, "actions") + ", " + of(rank.boundaries, "boundaries") +
                        ", 2 memory.csv, 10 microbatches.csv, 2 steps.csv, " + of(rank.tensors, "tensors") + ", " +
                        of(rank.traffic, "traffic") + "\n"));
  }
  // The first rank has the embedding and a layer of nine: of two steps, and parameters of the start too.
  EXPECT_THAT(text,
              HasSubstr("digests       20 gradient, 20 moment1, 20 moment2, 30 parameter, 10 receive, 10 send\n"));
}

TEST(RecordShow, ShowsLevelSeedClippingAndTies) {
  SyntheticCell cell;
  cell.candidate.manifest["seed"] = 7;
  cell.candidate.manifest["loss_scaling"] = "after";

  const std::string text = shown_record(cell.write_candidate());

  EXPECT_THAT(
      text, AllOf(HasSubstr("level           full, float32 on cpu\n"), HasSubstr(" microbatches, seed 7\n"),
                  HasSubstr("clipping        1, of a norm in canonical order\n"), HasSubstr("loss scaling    after\n"),
                  HasSubstr("tied            lm_head.weight = model.embed_tokens.weight\n")));
  EXPECT_THAT(text, Not(HasSubstr("\nevery ")));
  EXPECT_THAT(text, Not(HasSubstr("\nfrozen ")));
}

TEST(RecordShow, OfSeveralTiesEachIsToldAndOneFrozenParameterAndEverySecondStepToo) {
  SyntheticCell cell;
  const std::string norm = "model.norm.weight";
  Json& manifest = cell.candidate.manifest;
  manifest["role"] = "external";
  manifest["every"] = 2;
  manifest["frozen"] = {norm};
  manifest["tied"] = {{"a.weight", "b.weight"}, {"c.weight", "d.weight", "e.weight"}};
  for (RankRecord& rank : cell.candidate.ranks)
    std::erase_if(rank.tensors, [&](const TensorRow& row) { return row.kind != "parameter" && row.name == norm; });

  EXPECT_THAT(shown_record(cell.write_candidate()),
              AllOf(HasSubstr("tied            a.weight = b.weight; c.weight = d.weight = e.weight\n"),
                    HasSubstr("frozen          model.norm.weight\n"),
                    HasSubstr("every           2: step i of the record is step 2 i of the run\n")));
}

TEST(RecordShow, StagesAreShownWithTheirRank) {
  SyntheticCell cell;
  Json& manifest = cell.candidate.manifest;
  manifest["schedule"]["chunks_per_rank"] = 2;
  for (const int rank : {1, 0})  // there and back, as a V
    manifest["stages"].push_back({{"stage", 3 - rank}, {"rank", rank}, {"units", Json::array()}});

  EXPECT_THAT(shown_record(cell.write_candidate()),
              HasSubstr("stage 2         rank 1: no unit\nstage 3         rank 0: no unit\n"));
}

TEST(RecordShow, OfARankThatFailedTheCodeAndOfAKilledOneWhereItsTablesBreakOff) {
  SyntheticCell cell;
  cell.candidate.ranks[0].exit->status = "error";
  cell.candidate.ranks[0].exit->code = 3;
  const auto record = cell.write_candidate();
  std::filesystem::remove(record / "rank-1/exit.json");
  std::filesystem::resize_file(record / "rank-1/steps.csv",
                               std::filesystem::file_size(record / "rank-1/steps.csv") - 1);

  EXPECT_THAT(shown_record(record), AllOf(HasSubstr("rank 0          error, code 3; 2 whole steps\n"),
                                          HasSubstr("rank 1          no exit.json: killed, or still running"),
                                          HasSubstr("  cut off       steps.csv\n")));
}

TEST(RecordShow, OneTableThatARankLacksIsToldAndSeveral) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  const auto record = cell.write_candidate();
  std::filesystem::remove(record / "rank-1/traffic.csv");

  EXPECT_THAT(shown_record(record), AllOf(HasSubstr("  absent        saved.csv\nrank 1 "),
                                          EndsWith("  absent        saved.csv, traffic.csv\n")));
}

TEST(RecordShow, FolderWithoutManifestIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(shown_record(folder.path()), InputError);
  EXPECT_THROW(shown_record(folder / "nothing"), InputError);
}

TEST(RecordRules, NameEveryCheckAndWhatAnExternalRecordMayLack) {
  const std::string text = rules_text();

  for (const auto& name : check_names()) EXPECT_THAT(text, HasSubstr("\n" + name + " ")) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("must not differ"), HasSubstr("memory.csv, values: peak_bytes"),
                          HasSubstr("tensors.csv, columns: nonzero_rows")));
  for (const char* row :
       {"\nas_asked           -        required, always     required, always\n",
        "\nloss               summary  required             required\n",
        "\nloss           within limits  to the gradients\n", "\nparameters     within limits  to the update\n",
        "\nmemory             summary  required             must not differ\n"})
    EXPECT_THAT(text, HasSubstr(row));
}

TEST(RecordRules, ListOptionalPartsOfEachTable) {
  EXPECT_THAT(rules_text(),
              HasSubstr("  schedule.csv, saved.csv, traffic.csv, gpu_memory.csv; without schedule.csv, the rows of "
                        "actions.csv\n"
                        "  steps.csv, columns: live_tokens\n"
                        "  steps.csv, values: seconds\n"
                        "  tensors.csv, columns: nonzero_rows\n"
                        "  actions.csv, columns: peak_bytes\n"
                        "  memory.csv, columns: live_bytes\n"
                        "  memory.csv, values: peak_bytes, parameter_bytes, gradient_bytes, optimizer_bytes, "
                        "activation_peak_bytes, buffer_bytes, process_peak_bytes\n\n"));
}

TEST(RecordRules, ListChecksThatNeedWhatARecorderMayMiss) {
  EXPECT_THAT(rules_text(),
              EndsWith("  sends: boundaries\n"
                       "  receives: boundaries\n"
                       "  boundaries: boundaries\n"
                       "  actions: memory, conformance\n"
                       "  schedule: memory, conformance\n"
                       "  waits: a part of another check\n"
                       "  losses: loss\n"
                       "  gradients: gradients, nonzero_gradients, tied_weights\n"
                       "  norm: gradient_norm\n"
                       "  parameters: census, parameters, tied_weights, resume, replicas\n"
                       "  moments: tied_weights, resume, replicas\n"
                       "  rates: a part of another check\n"
                       "  inputs: data, nonzero_gradients (of the reference), memory (of the reference), resume\n"
                       "  labels: data, nonzero_gradients (of the reference), memory (of the reference), resume\n"
                       "  applied: applied\n"
                       "  buffers: buffers\n"));
}

TEST(RecordShow, FactsAreInTheOrderOfExecution) {
  SyntheticCell cell;
  std::vector<std::string> lines;
  show_facts(cell.write_candidate(), [&](const std::string& line) { lines.push_back(line); });

  EXPECT_EQ(lines.at(0), "step,column,microbatch,name,rank,stage,side,value\n");
  const TensorRow& norm = tensor_row(cell.candidate, 1, "gradient", "model.norm.weight");
  const BoundaryRow& sent = boundary_row(cell.candidate, 0, 1, "forward", "layers.1", "send");
  const auto at = [&](const std::string& line) { return std::ranges::find(lines, line + "\n") - lines.begin(); };
  const auto of_boundary = at("0,forward,1,layers.1,0,0,send,\"float32 1x1x4 " + sent.digest + "\"");
  const auto of_gradient = at("1,gradient,,model.norm.weight,1,1,,\"float32 4 " + norm.digest + "\"");
  EXPECT_LT(of_boundary, of_gradient);
  EXPECT_LT(of_gradient, std::ssize(lines));
}

}  // namespace
}  // namespace plumbline::testing
