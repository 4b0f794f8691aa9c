// SPDX-License-Identifier: BSD-3-Clause
// Results of a benchmark for tests.
#pragma once

#include "harness/bench/bench_result.hpp"

namespace plumbline::testing {

inline BenchCell bench_cell(const std::string& schedule, std::int64_t world, double speed,
                            bool oversubscribed = false) {
  BenchCell cell;
  cell.id = "tiny-" + schedule + "-w" + std::to_string(world);
  cell.world = world;
  cell.oversubscribed = oversubscribed;
  cell.rounds = {{49, 19000, 0.99 * speed}, {52, 21000, 1.01 * speed}};
  cell.step_ms = {50, 49, 52};
  cell.speed = {speed, 0.99 * speed, 1.01 * speed};
  if (world > 1) {
    cell.bubble = BenchBubble{{0.14, 0.13, 0.15}, 0.11};
    cell.simulated_speed = 1.78;
  }
  return cell;
}

/// One reference and its cases on 1, 2 and 4 ranks of a machine with 2 cores; quiet.
inline BenchResult bench_result() {
  BenchResult result;
  result.name = "tiny";
  result.started = "2026-11-22T10:00:00Z";
  result.machine = {{"device", "cpu"}};
  result.cores = 2;
  result.rounds = 6;
  result.steps = 9;
  result.coverage = 0.96875;
  result.noise = 0.02;
  result.quiet_limit = 0.05;
  result.references = {
      {"tiny", {{98, 9800, std::nullopt}, {103, 10300, std::nullopt}}, {100, 98, 103}, {1, 0.98, 1.02}}};
  result.cells = {bench_cell("1f1b", 1, 0.98), bench_cell("1f1b", 2, 1.65), bench_cell("1f1b", 4, 1.6, true)};
  return result;
}

}  // namespace plumbline::testing
