// SPDX-License-Identifier: BSD-3-Clause
// Cost of making, lowering, verifying and simulating a schedule against p and m: linear in actions.
//     ninja -C build/cpu schedule_scale && build/cpu/bin/schedule_scale
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <stdexcept>
#include <string>

#include "schedule/lowering.hpp"
#include "schedule/simulator.hpp"
#include "schedule/verifier.hpp"

namespace {

using namespace plumbline;

double peak_gibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

void all_of_it(benchmark::State& state, const std::string& name) {
  const auto ranks = static_cast<std::int32_t>(state.range(0));
  const auto microbatches = static_cast<std::int32_t>(state.range(1));
  double actions = 0;
  for (auto _ : state) {
    const Schedule lowered = lower(make_schedule(name, ranks, microbatches, default_chunks(name)), true);
    VerifyOptions options;
    options.tied = true;
    options.ascending = true;
    if (!verify(lowered, options).empty()) throw std::logic_error(name + " does not hold");
    benchmark::DoNotOptimize(simulate(lowered, {{{}}, {0.1}}).makespan);
    actions = 0;
    for (const ActionList& list : lowered.ranks) actions += static_cast<double>(list.size());
  }
  state.counters["actions"] = actions;
  state.counters["per_action"] =
      benchmark::Counter(actions, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["peak_GiB"] = peak_gibibytes();  // of the process so far: rows come from small to large
}

void sizes(benchmark::internal::Benchmark* each) {
  for (const auto& [ranks, microbatches] : {std::pair{64, 256}, {64, 4096}, {1024, 256}, {1024, 4096}}) {
    each->Args({ranks, microbatches});
  }
  each->ArgNames({"p", "m"})->Unit(benchmark::kMillisecond)->Iterations(1);
}

BENCHMARK_CAPTURE(all_of_it, one_f_one_b, std::string("1f1b"))->Apply(sizes);
BENCHMARK_CAPTURE(all_of_it, zb_h1, std::string("zb-h1"))->Apply(sizes);
BENCHMARK_CAPTURE(all_of_it, zb_v, std::string("zb-v"))
    ->Args({64, 256})
    ->Args({256, 1024})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
