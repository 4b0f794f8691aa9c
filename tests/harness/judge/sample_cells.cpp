// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/sample_cells.hpp"

#include <map>
#include <sstream>

#include "harness/judge/request/token_source.hpp"
#include "support/hash.hpp"

namespace plumbline::testing {
namespace {

const std::map<std::string, void (*)(SyntheticPlan&)> plans = {
    {"untied", [](SyntheticPlan& plan) { plan.tied = false; }},
    {"sgd", [](SyntheticPlan& plan) { plan.optimizer = "sgd"; }},
    {"afab", [](SyntheticPlan& plan) { plan.schedule = "afab"; }},
    {"summary", [](SyntheticPlan& plan) { plan.level = "summary"; }},
    {"cuda", [](SyntheticPlan& plan) { plan.device = "cuda"; }},
    {"one_stage", [](SyntheticPlan& plan) { plan.stages = one_stage().stages; }},
    {"empty_stage", [](SyntheticPlan& plan) { plan.stages = with_empty_stage().stages; }}};

/// The matching request.
Request request_of(const SyntheticRun& run) {
  const Json& manifest = run.manifest;
  Request request;
  request.role = manifest.at("role").get<std::string>();
  request.world_size = manifest.at("world_size").get<std::int64_t>();
  request.schedule =
      RequestedSchedule{manifest.at("schedule").at("name").get<std::string>(), 1, hash_hex(run.schedule_csv)};
  request.stages.emplace();
  for (const Json& stage : manifest.at("stages")) {
    request.stages->push_back({stage.at("stage").get<std::int64_t>(), stage.at("rank").get<std::int64_t>(),
                               stage.at("units").get<std::vector<std::string>>()});
  }
  request.model_digest = model_digest(manifest.at("model"));
  request.seed = manifest.at("seed").get<std::uint64_t>();
  request.dtype = "float32";
  request.optimizer = manifest.at("optimizer");
  request.clip_norm = 1.0;
  request.steps = synthetic_steps;
  request.microbatches.emplace();
  for (const std::int64_t length : {3, 1, 4, 3, 2}) request.microbatches->push_back({{length}, length == 2});
  request.accumulation_digest = "";
  request.device = "cpu";
  request.level = "full";
  return request;
}

/// Evaluates after each step on two microbatches, or with `every` 0 after the last.
void add_evaluation(SyntheticRun& run, std::int64_t every) {
  run.manifest["evaluation"] = {{"every", every}, {"microbatches", 2}};
  auto& rows = run.ranks.back().evaluation;
  for (std::int64_t step = every == 0 ? synthetic_steps - 1 : 0; step < synthetic_steps; ++step) {
    rows.push_back({step, 0, 7, 7, 1.5F, std::string(32, 'a')});
    rows.push_back({step, 1, 3, 2, 0.25F, std::string(32, 'b')});
    rows.push_back({step, std::nullopt, 10, 9, 1.75F, ""});
  }
}

/// Trained on a file of eight ids and evaluated on another after each step, as the request says.
void add_data(SyntheticCell& cell) {
  const auto trained = cell.folder.file("trained.bin", std::string("\0\1\2\3\4\5\6\7", 8));
  const auto evaluated = cell.folder.file("evaluated.bin", std::string("\7\6\5\4", 4));
  cell.folder.file("zeros.bin", std::string(8, '\0'));
  cell.folder.file("ones.bin", std::string(8, '\1'));
  for (auto* request : {&*cell.plan.request, &*cell.plan.reference_request}) {
    request->data = RequestedData{.files = {trained}, .sizes = {8}, .format = "bytes"};
    request->evaluation.emplace(RequestedEvaluation{.every = 1,
                                                    .microbatches = {{{3}, false}, {{2}, false}},
                                                    .data = {.files = {evaluated}, .sizes = {4}, .format = "bytes"}});
  }
  const Request& request = *cell.plan.request;
  judging::TokenSource source(*request.data, *request.microbatches);
  judging::TokenSource held_out((*request.evaluation)->data, (*request.evaluation)->microbatches);
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (MicrobatchRow& row : run->rows(&RankRecord::microbatches)) {
      if (!row.data_digest.empty()) row.data_digest = source.data_digest(row.step, row.microbatch);
      row.valid_tokens = request.microbatches->at(static_cast<std::size_t>(row.microbatch)).masked ? 0 : row.tokens;
    }
    for (StepRow& row : run->rows(&RankRecord::steps)) row.valid_tokens = 11;
    digest_data_again(*run);
    run->manifest["evaluation"] = {{"every", 1}, {"microbatches", 2}};
    for (std::int64_t step = 0; step < synthetic_steps; ++step) {
      run->ranks.back().evaluation.push_back({step, 0, 3, 3, 1.5F, held_out.data_digest(0, 0)});
      run->ranks.back().evaluation.push_back({step, 1, 2, 2, 0.25F, held_out.data_digest(0, 1)});
      run->ranks.back().evaluation.push_back({step, std::nullopt, 5, 5, 1.75F, ""});
    }
  }
}

/// External records with gradients as applied, and a counter on the last stage, after each step.
void add_applied(SyntheticRun& run) {
  run.manifest["role"] = "external";
  for (RankRecord& rank : run.ranks) {
    std::vector<TensorRow> more;
    for (const TensorRow& row : rank.tensors) {
      TensorRow other = row;
      other.kind = row.kind == "gradient" ? "applied" : "buffer";
      if (row.kind == "gradient") more.push_back(other);
      if (row.kind != "parameter" || row.name != "model.norm.weight") continue;
      other.name = "model.norm.count";
      other.dtype = "int64";
      more.push_back(other);
    }
    rank.tensors.insert(rank.tensors.end(), more.begin(), more.end());
  }
}

/// Other times, so that it is not a copy.
SyntheticRun at_other_times(SyntheticRun run) {
  run.manifest["run_id"] = new_run_id();
  for (ActionRow& row : run.rows(&RankRecord::actions)) row.end_ns += 1;
  return run;
}

using Changes = std::map<std::string, void (*)(SyntheticCell&)>;
const Changes changes_of_start = {
    {"requested",
     [](SyntheticCell& cell) {
       cell.plan.request = request_of(cell.candidate);
       cell.plan.reference_request = request_of(cell.reference);
     }},
    {"of_files", add_data},
    {"evaluated", [](SyntheticCell& cell) { add_evaluation(cell.reference, 1), add_evaluation(cell.candidate, 1); }},
    {"evaluated_last",
     [](SyntheticCell& cell) { add_evaluation(cell.reference, 0), add_evaluation(cell.candidate, 0); }},
    {"reference_evaluates", [](SyntheticCell& cell) { add_evaluation(cell.reference, 1); }},
    {"candidate_evaluates", [](SyntheticCell& cell) { add_evaluation(cell.candidate, 1); }},
    {"reference_evaluates_last", [](SyntheticCell& cell) { add_evaluation(cell.reference, 0); }},
    {"applied", [](SyntheticCell& cell) { add_applied(cell.reference), add_applied(cell.candidate); }},
    {"resumed", [](SyntheticCell& cell) { begin_with_second_step(cell.candidate); }},
    {"resumed_reference", [](SyntheticCell& cell) { begin_with_second_step(cell.reference); }},
    {"one_step", [](SyntheticCell& cell) { keep_first_step(cell.reference), keep_first_step(cell.candidate); }},
    {"unmoved", [](SyntheticCell& cell) { keep_start(cell.reference), keep_start(cell.candidate); }},
    {"two_pipelines",
     [](SyntheticCell& cell) { cell.reference = at_other_times(synthetic_candidate(SyntheticPlan{})); }},
    {"two_partitions",
     [](SyntheticCell& cell) {
       cell.reference = at_other_times(
           synthetic_candidate({.stages = {{"embed_tokens"}, {"layers.0", "layers.1", "norm", "lm_head"}}}));
     }},
    {"pipeline_of_one", [](SyntheticCell& cell) { cell.reference = at_other_times(synthetic_candidate(one_stage())); }},
    {"one_device",
     [](SyntheticCell& cell) {
       cell.candidate = at_other_times(synthetic_reference(SyntheticPlan{}));
       cell.candidate.manifest["role"] = "external";
     }},
    {"copy",
     [](SyntheticCell& cell) {
       cell.candidate = cell.reference;
       cell.candidate.manifest["run_id"] = new_run_id();
     }},
    {"repeated", [](SyntheticCell& cell) {
       cell.plan.repeat = true;
       cell.repeated = at_other_times(cell.candidate);
     }}};

}  // namespace

std::unique_ptr<SyntheticCell> sample_cell(const std::string& start) {
  std::istringstream words(start);
  SyntheticPlan plan;
  std::vector<void (*)(SyntheticCell&)> changes;
  std::string word;
  words >> word;
  while (words >> word) {
    if (const auto of_plan = plans.find(word); of_plan != plans.end())
      of_plan->second(plan);
    else
      changes.push_back(changes_of_start.at(word));
  }
  auto cell = std::make_unique<SyntheticCell>(plan);
  for (const auto& change : changes) change(*cell);
  return cell;
}

}  // namespace plumbline::testing
