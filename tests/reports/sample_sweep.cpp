// SPDX-License-Identifier: BSD-3-Clause
#include "tests/reports/sample_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace plumbline::testing {
namespace {

constexpr std::int64_t layers = 5;
constexpr std::int64_t microbatches = 8;
constexpr std::int64_t layer_bytes = 640 * 1024;

std::vector<std::string> units_of(std::int64_t world, std::int64_t rank) {
  std::vector<std::string> units;
  if (rank == 0) units.push_back("embed_tokens");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (layer * world / layers == rank) units.push_back("layers." + std::to_string(layer));
  }
  if (rank == world - 1) units.insert(units.end(), {"norm", "lm_head"});
  return units;
}

RankMemory rank_memory(std::int64_t world, std::int64_t rank, std::int64_t in_flight) {
  RankMemory memory;
  memory.rank = rank;
  memory.units = units_of(world, rank);
  const auto units = static_cast<std::int64_t>(memory.units.size());
  memory.activation_bytes = units * layer_bytes * in_flight + 4096;
  memory.predicted_bytes = memory.activation_bytes;
  memory.parameter_bytes = units * 200'000;
  memory.gradient_bytes = memory.parameter_bytes;
  memory.optimizer_bytes = 2 * *memory.parameter_bytes;
  return memory;
}

Losses losses(std::int64_t steps) {
  Losses all;
  for (std::int64_t step = 0; step < steps; ++step) {
    all[step] = 6.25F - 0.3F * std::log1p(static_cast<float>(step));
  }
  return all;
}

RunSummary run_summary(std::int64_t world, const std::string& schedule, std::int64_t steps) {
  RunSummary run;
  run.manifest.dtype = "float32";
  run.manifest.seed = 7;
  run.manifest.steps = steps;
  run.manifest.microbatches = microbatches;
  run.manifest.data_digest = "0123456789abcdef0123456789abcdef";
  run.manifest.json = {{"data", {{"source", "corpus/prose.txt"}}}};
  run.losses = losses(steps);
  for (std::int64_t rank = 0; rank < world; ++rank) {
    const std::int64_t in_flight = schedule == "afab"   ? microbatches
                                   : schedule == "1f1b" ? std::min(microbatches, world - rank)
                                                        : 1;
    run.ranks.push_back(rank_memory(world, rank, in_flight));
  }
  return run;
}

}  // namespace

CheckResult holding_check(const std::string& name) {
  CheckResult check;
  check.name = name;
  check.outcome = Outcome::holds;
  check.reason = "every digest equals the reference's, forward and backward, at every cut";
  check.compared = {{"elements", 51'200}, {"tensors", 640}};
  check.inspected = {{"ranks", 2}};
  check.limit = "0 ULP: same microbatches on the same kind of device";
  check.measured = "0 of 640 tensors differ";
  return check;
}

CellVerdict holding_cell(const std::string& model, const std::string& optimizer, const std::string& schedule,
                         std::int64_t world) {
  CellVerdict cell;
  cell.id = model + "-" + optimizer + "-" + schedule + "-w" + std::to_string(world);
  cell.run = model;
  cell.reference = model + "-" + optimizer;
  cell.versions = {{"libtorch", "2.11.0"}, {"mpi", "Open MPI 4.1.4"}, {"transport", "mpi"}};
  cell.model = model;
  cell.optimizer = optimizer;
  cell.schedule = schedule;
  cell.world = world;
  cell.holds = true;
  cell.seconds = 2.5;
  cell.command = "plumbline sweep sweeps/default.toml --cells " + cell.id;
  for (const char* name :
       {"completion", "data", "census", "loss", "boundaries", "gradients", "nonzero_gradients", "gradient_norm",
        "parameters", "audit", "tied_weights", "buffers", "memory", "conformance", "repeatability"}) {
    cell.checks.push_back(holding_check(name));
  }
  CheckResult& last = cell.checks.back();
  last.outcome = Outcome::does_not_apply;
  last.required = false;
  last.compared.clear();
  last.reason = "the sweep asks for a second run of four named cells only";
  return cell;
}

ReferenceVerdict finished_reference(const std::string& model, const std::string& optimizer) {
  ReferenceVerdict reference;
  reference.id = model + "-" + optimizer;
  reference.run = model;
  reference.model = model;
  reference.optimizer = optimizer;
  reference.finished = true;
  reference.seconds = 1.5;
  reference.versions = {{"libtorch", "2.11.0"}, {"device", "cpu"}};
  CheckResult bench = holding_check("bench");
  bench.compared.clear();
  reference.checks = {bench};
  return reference;
}

CheckResult& check_of(CellVerdict& cell, const std::string& name) {
  for (auto& check : cell.checks) {
    if (check.name == name) return check;
  }
  throw std::logic_error("the sample has no check " + name);
}

void break_check(Verdict& verdict, std::size_t cell, const std::string& name) {
  CellVerdict& broken = verdict.cells.at(cell);
  CheckResult& check = check_of(broken, name);
  check.outcome = Outcome::differs;
  check.reason = "12 of 640 tensors differ from the reference's";
  Finding divergence;
  divergence.claim = name;
  divergence.level = "R2";
  divergence.step = 1;
  divergence.microbatch = 3;
  divergence.stage = 2;
  divergence.rank = 2;
  divergence.direction = "backward";
  divergence.item = "layers.3";
  divergence.expected = "e9ae472f8e0534b67486a13c09695146";
  divergence.got = "77b3d71dc009b6ec2f49a7bfef15fa25";
  divergence.size = "l2 2, expected 1 (2 times); max_abs 0.5, expected 0.5 (equal)";
  divergence.words = "the gradient that rank 2 received for microbatch 3 is not the one that rank 3 sent";
  check.first_divergence = divergence;
  broken.first_divergence = divergence;
  broken.holds = false;
  verdict.holds = false;
}

void leave_out(Verdict& verdict, std::size_t cell, bool accepted) {
  CellVerdict& left = verdict.cells.at(cell);
  for (const auto& [claim, step] : {std::pair("gradients", 5), std::pair("parameters", 4)}) {
    CheckResult& check = check_of(left, claim);
    check.outcome = Outcome::incomplete;
    check.from_step = step;
    check.reason = "the clip coefficients of step 4 differ <by a rounding>";
    check.accepted = accepted;
  }
  left.holds = none_blocks(left.checks);
  verdict.holds = verdict.holds && left.holds;
  sum_up(verdict);
}

Verdict sample_verdict(std::int64_t worlds) {
  Verdict verdict;
  verdict.holds = true;
  verdict.name = "default";
  verdict.started = "2026-11-21T12:00:00Z";
  for (const char* model : {"stories260k", "untied"}) {
    for (const char* optimizer : {"adamw", "sgd"}) {
      for (const char* schedule : {"afab", "1f1b"}) {
        for (std::int64_t world = 1; world <= worlds; ++world) {
          verdict.cells.push_back(holding_cell(model, optimizer, schedule, world));
        }
      }
    }
  }
  for (const std::vector<std::int64_t>& balance :
       {std::vector<std::int64_t>{0, 2, 3}, {3, 2, 0}, {2, 0, 0, 3}, {0, 0, 5, 0}}) {
    CellVerdict cell = holding_cell("stories260k", "adamw", "1f1b", static_cast<std::int64_t>(balance.size()));
    cell.balance = balance;
    cell.id += "-balance";
    for (const auto stage : balance) cell.id += "-" + std::to_string(stage);
    verdict.cells.push_back(cell);
  }
  verdict.selection.cells = verdict.selection.of_cells = std::ssize(verdict.cells);
  for (const char* model : {"stories260k", "untied"}) {
    for (const char* optimizer : {"adamw", "sgd"}) verdict.references.push_back(finished_reference(model, optimizer));
  }
  sum_up(verdict);
  verdict.compared["bytes"] = 186'122'240;
  verdict.harness = {{"version", "1.2.3"}, {"commit", "0123456789ab"}};
  verdict.machine = {{"machine", {{"cpu", "AMD EPYC 9R14"}, {"isa", "AVX512"}, {"cores", 2}}},
                     {"versions", {{"libtorch", "2.11.0"}, {"mpi", "Open MPI 4.1.4"}}},
                     {"environment", {{"OMP_NUM_THREADS", "1"}}}};
  return verdict;
}

Evidence sample_evidence(const Verdict& verdict, std::int64_t steps) {
  Evidence evidence;
  for (const auto& cell : verdict.cells) {
    const std::string reference = cell.model + "-" + cell.optimizer;
    if (!evidence.references.contains(reference)) {
      evidence.references.emplace(reference, run_summary(1, "sequential", steps));
    }
    evidence.cells.emplace(cell.id, run_summary(cell.world, cell.schedule, steps));
    evidence.reference_of[cell.id] = reference;
  }
  return evidence;
}

MeasuredTimeline sample_timeline(const std::string& schedule, std::int32_t world) {
  MeasuredTimeline timeline;
  timeline.step = 3;
  timeline.steps_timed = 4;
  timeline.schedule = timeline.executed = make_schedule(schedule, world, microbatches);
  timeline.measured = timeline.planned = simulate(timeline.schedule, {{{1, 1, 1}}, {}});
  timeline.median_makespan = timeline.planned.makespan;
  timeline.median_bubble_rate = 0.125;
  for (const ActionList& list : timeline.executed.ranks) timeline.waits.emplace_back(list.size(), 0.0);
  return timeline;
}

}  // namespace plumbline::testing
