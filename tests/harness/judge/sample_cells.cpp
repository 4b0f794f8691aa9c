// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/sample_cells.hpp"

#include <cmath>
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

/// Trains on a file of eight ids and evaluates on another after each step, as the request says.
void add_data(SampleCell& cell) {
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

/// External records with the applied gradients, and a counter on the last stage, after each step.
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

/// Changes the times, so that the run is not a copy.
SyntheticRun at_other_times(SyntheticRun run) {
  run.manifest["run_id"] = new_run_id();
  for (ActionRow& row : run.rows(&RankRecord::actions)) row.end_ns += 1;
  return run;
}

void clip(SyntheticRun& run, std::size_t step, double norm) {
  for (auto& rank : run.ranks) rank.steps[step].gradient_norm = norm, rank.steps[step].clip_coefficient = 1 / norm;
}

/// One record sums its norm rank by rank, so the two clip by different coefficients in this step.
void part(SampleCell& cell, std::size_t step, SyntheticRun& by_rank) {
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      const double times = 2.0 / rank.steps[step].gradient_norm.value();  // the norm is that of the gradients
      for (auto& row : rank.tensors)
        if (row.kind == "gradient" && row.step == static_cast<std::int64_t>(step)) row.l2 *= times;
    }
    clip(*run, step, 2.0);
  }
  by_rank.manifest["role"] = "external";
  by_rank.manifest["norm_order"] = "per_rank";
  clip(by_rank, step, std::nextafter(2.0, 3.0));
}

/// The reference clips by the candidate's norms; its own norm differs by a rounding in the first step.
void replay(SampleCell& cell) {
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    run->manifest["role"] = "external";
    run->manifest["norm_order"] = "per_rank";
    for (RankRecord& rank : run->ranks) {
      for (StepRow& row : rank.steps) {
        const double own = *row.gradient_norm, coefficient = *row.clip_coefficient;
        if (run == &cell.reference && row.step == 0) row.gradient_norm = std::nextafter(own, 0.0);
        const auto replayed = run == &cell.reference ? std::optional(own) : std::nullopt;
        rank.norms.push_back({row.step, 0, *row.gradient_norm, replayed, coefficient});
      }
    }
  }
  cell.reference.manifest["norms_from"] = {
      {"run_id", cell.candidate.manifest["run_id"]}, {"rank", 0}, {"digest", other_digest}};
}

/// Both clip twice in each step, by parameter groups.
void clip_twice(SampleCell& cell) {
  cell.plan.clipping_must_act = false;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    run->manifest["role"] = "external";
    run->manifest["norm_order"] = "per_rank";
    for (RankRecord& rank : run->ranks) {
      for (StepRow& row : rank.steps) {
        for (const std::int64_t call : {0, 1}) rank.norms.push_back({row.step, call, 2.0, {}, 0.5});
        row.gradient_norm.reset(), row.clip_coefficient.reset();
      }
    }
  }
}

using Changes = std::map<std::string, void (*)(SampleCell&)>;
const Changes changes_of_start = {
    {"requested",
     [](SampleCell& cell) {
       cell.plan.request = request_of(cell.candidate);
       cell.plan.reference_request = request_of(cell.reference);
     }},
    {"of_files", add_data},
    {"evaluated", [](SampleCell& cell) { add_evaluation(cell.reference, 1), add_evaluation(cell.candidate, 1); }},
    {"evaluated_last", [](SampleCell& cell) { add_evaluation(cell.reference, 0), add_evaluation(cell.candidate, 0); }},
    {"reference_evaluates", [](SampleCell& cell) { add_evaluation(cell.reference, 1); }},
    {"candidate_evaluates", [](SampleCell& cell) { add_evaluation(cell.candidate, 1); }},
    {"reference_evaluates_last", [](SampleCell& cell) { add_evaluation(cell.reference, 0); }},
    {"applied", [](SampleCell& cell) { add_applied(cell.reference), add_applied(cell.candidate); }},
    {"resumed", [](SampleCell& cell) { begin_with_second_step(cell.candidate); }},
    {"resumed_reference", [](SampleCell& cell) { begin_with_second_step(cell.reference); }},
    {"one_step", [](SampleCell& cell) { keep_first_step(cell.reference), keep_first_step(cell.candidate); }},
    {"unmoved", [](SampleCell& cell) { keep_start(cell.reference), keep_start(cell.candidate); }},
    {"two_pipelines", [](SampleCell& cell) { cell.reference = at_other_times(synthetic_candidate(SyntheticPlan{})); }},
    {"two_partitions",
     [](SampleCell& cell) {
       cell.reference = at_other_times(
           synthetic_candidate({.stages = {{"embed_tokens"}, {"layers.0", "layers.1", "norm", "lm_head"}}}));
     }},
    {"pipeline_of_one", [](SampleCell& cell) { cell.reference = at_other_times(synthetic_candidate(one_stage())); }},
    {"one_device",
     [](SampleCell& cell) {
       cell.candidate = at_other_times(synthetic_reference(SyntheticPlan{}));
       cell.candidate.manifest["role"] = "external";
     }},
    {"copy",
     [](SampleCell& cell) {
       cell.candidate = cell.reference;
       cell.candidate.manifest["run_id"] = new_run_id();
     }},
    {"parting", [](SampleCell& cell) { part(cell, 0, cell.candidate); }},
    {"parting_in_step_1", [](SampleCell& cell) { part(cell, 1, cell.candidate); }},
    {"parting_reference", [](SampleCell& cell) { part(cell, 0, cell.reference); }},
    {"replayed", replay},
    {"clipped_twice", clip_twice},
    {"replicas", add_replicas},
    {"replicas_of_ours", add_replicas_of_ours},
    {"places", [](SampleCell& cell) { add_places(cell); }},
    {"places_of_twice_the_norm", [](SampleCell& cell) { add_places(cell, 2); }},
    {"places_that_count_twice", [](SampleCell& cell) { add_places(cell, 1, true); }},
    {"replicas_repeated",
     [](SampleCell& cell) {
       cell.plan.repeat = true;
       for (const SyntheticRun& run : cell.candidates) cell.again.push_back(at_other_times(run));
     }},
    {"repeated", [](SampleCell& cell) {
       cell.plan.repeat = true;
       cell.repeated = at_other_times(cell.candidate);
     }}};

void write_places(const std::vector<SyntheticRun>& runs, const std::filesystem::path& folder) {
  for (std::size_t place = 0; place < runs.size(); ++place)
    write_run(runs[place], folder / ("replica-" + std::to_string(place)));
}

}  // namespace

void write_files(SampleCell& cell) {
  if (!cell.references.empty()) {
    write_places(cell.references, cell.folder / "reference");
    write_places(cell.candidates, cell.folder / "candidate");
    return write_places(cell.again, cell.folder / "repeated");
  }
  cell.write_reference();
  cell.write_candidate();
  if (cell.repeated) write_run(*cell.repeated, cell.folder / "repeated");
}

std::unique_ptr<SampleCell> sample_cell(const std::string& start) {
  std::istringstream words(start);
  SyntheticPlan plan;
  std::vector<void (*)(SampleCell&)> changes;
  std::string word;
  words >> word;
  while (words >> word) {
    if (const auto of_plan = plans.find(word); of_plan != plans.end())
      of_plan->second(plan);
    else
      changes.push_back(changes_of_start.at(word));
  }
  auto cell = std::make_unique<SampleCell>(plan);
  for (const auto& change : changes) change(*cell);
  return cell;
}

}  // namespace plumbline::testing
