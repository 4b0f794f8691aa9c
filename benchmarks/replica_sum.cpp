// SPDX-License-Identifier: BSD-3-Clause
// The exact sum of gradients over replicas against a plain MPI_Allreduce of the same bytes, in turn:
//   mpirun -n R replica_sum TENSORS ELEMENTS ROUNDS
// TENSORS gradients of ELEMENTS float32 each. Prints the median milliseconds of both and the median of the rounds'
// ratios.
#include "pipeline/replica_sum.hpp"

#include <ATen/Parallel.h>
#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "support/numbers.hpp"
#include "training/environment.hpp"

namespace {

/// The slowest rank's seconds.
template <typename Call>
double seconds_of(const Call& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  call();
  double own = MPI_Wtime() - begun, slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

double median(std::vector<double> values) {
  return plumbline::median_of(std::move(values)).value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: mpirun -n R replica_sum TENSORS ELEMENTS ROUNDS\n", stderr);
    return 2;
  }
  const int tensors = std::atoi(argv[1]), rounds = std::atoi(argv[3]);
  const std::int64_t elements = std::atoll(argv[2]);
  plumbline::keep_freed_memory();  // as the trainers do
  at::set_num_threads(1);
  const at::NoGradGuard no_grad;
  const auto transport = plumbline::make_mpi_transport({std::chrono::minutes(2)});
  plumbline::TrainState state;
  at::Tensor gradients = at::ones({tensors * elements});  // in one buffer, as a slice allocates them
  for (int i = 0; i < tensors; ++i) {
    plumbline::TrainedParameter parameter;
    parameter.name = "p" + std::to_string(i);
    parameter.value = at::zeros({elements});
    parameter.value.mutable_grad() = gradients.narrow(0, i * elements, elements);
    state.parameters.push_back(std::move(parameter));
  }
  plumbline::ReplicaSum group(plumbline::Group(*transport), at::kCPU);
  // Of two calls, as each finds heap and caches as the other left them.
  const auto second_seconds_of = [&](const auto& call) {
    for (int calls = 0;; ++calls) {
      gradients.fill_(1);
      const double seconds = seconds_of(call);
      if (calls == 1) return seconds;
    }
  };
  std::vector<double> exact, plain, ratios;
  for (int round = -1; round < rounds; ++round) {  // the first allocates
    const double ours = second_seconds_of([&] {
      group.start(round + 1, 0, state);
      group.finish();
    });
    const double theirs = second_seconds_of([&] {
      for (const auto& parameter : state.parameters) {
        MPI_Allreduce(MPI_IN_PLACE, parameter.gradient().mutable_data_ptr(), static_cast<int>(elements), MPI_FLOAT,
                      MPI_SUM, MPI_COMM_WORLD);
      }
    });
    if (round < 0) continue;
    exact.push_back(ours);
    plain.push_back(theirs);
    ratios.push_back(ours / theirs);
  }
  if (transport->rank() == 0) {
    std::printf("%d replicas, %.0f MB: exact %.1f ms, MPI_Allreduce %.1f ms, ratio %.2f (%.2f to %.2f)\n",
                transport->size(), static_cast<double>(tensors) * static_cast<double>(elements) * 4e-6,
                median(exact) * 1e3, median(plain) * 1e3, median(ratios), *std::ranges::min_element(ratios),
                *std::ranges::max_element(ratios));
  }
  transport->finish();
}
