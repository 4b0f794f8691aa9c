// SPDX-License-Identifier: BSD-3-Clause
// plumbline-strict-nccl: the pipeline trainer over the NCCL transport and the strict libraries, with ranks as threads
// of one process; sent tensors are computed, and received ones read, asynchronously to the host. A sweep uses it as its
// launcher, `plumbline-strict-nccl --ranks {world}`: it does not start the trainer's program after it, but uses its
// arguments. With --without-event-waits rank 1 omits its waits for events.
#include <cstdio>
#include <string>
#include <vector>

#include "pipeline/program.hpp"
#include "pipeline/transport/transport.hpp"
#include "support/error.hpp"
#include "tests/strict_nccl/mistakes.hpp"
#include "tests/strict_nccl/streamed_compute.hpp"

namespace plumbline::strict {
namespace {

constexpr std::chrono::microseconds kernel_time{20};
/// Long enough that messages which do not wait for it arrive earlier.
constexpr std::chrono::microseconds long_kernel_time{10000};

/// Transports that own their world and print its findings when they end.
struct World {
  explicit World(int ranks) : model(ranks) {}
  ~World() {
    for (const std::string& finding : model.findings()) std::fprintf(stderr, "strict NCCL: %s\n", finding.c_str());
  }
  StrictWorld model;
};

int run(int argc, char** argv) {
  const bool mistaken = argc > 1 && std::string(argv[1]) == "--without-event-waits";
  if (mistaken) {
    ++argv;
    --argc;
  }
  if (argc < 4 || std::string(argv[1]) != "--ranks") {
    std::puts(
        "plumbline-strict-nccl [--without-event-waits] --ranks RANKS plumbline-pipeline <options of "
        "plumbline-pipeline>");
    return static_cast<int>(ExitCode::bad_input);
  }
  std::string transport = "--transport", threads = "threads";
  std::vector<char*> rest = {argv[3], argv[1], argv[2], transport.data(), threads.data()};
  rest.insert(rest.end(), argv + 4, argv + argc);

  const GpuSeam seam = mistaken ? plant_cuda<NoEventWaits>({1}) : GpuSeam();  // must outlive the transports
  std::unique_ptr<World> world;
  const int code =
      run_pipeline_program(static_cast<int>(rest.size()), rest.data(), [&](int ranks, TransportSettings settings) {
        world = std::make_unique<World>(ranks);
        auto transports = make_strict_transports(world->model, ranks, settings, {}, seam);
        for (auto& each : transports)
          each = stream_compute(world->model, std::move(each), mistaken ? long_kernel_time : kernel_time);
        return transports;
      });
  // The sweep's own checks must find the effect of the mistake on the values.
  if (code != 0 || !world || mistaken) return code;
  const bool clean = world->model.findings().empty() && world->model.leftovers().empty();
  return static_cast<int>(clean ? ExitCode::holds : ExitCode::does_not_hold);
}

}  // namespace
}  // namespace plumbline::strict

int main(int argc, char** argv) {
  return plumbline::run_main("plumbline-strict-nccl", [&] { return plumbline::strict::run(argc, argv); });
}
