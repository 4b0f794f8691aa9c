// SPDX-License-Identifier: BSD-3-Clause
// NCCL and CUDA for ranks that are threads of one process, in host memory. They are strict where the real libraries are
// lenient, and fail on demand. The test reads the violations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/transport/nccl/gpu_api.hpp"
#include "tests/strict_nccl/device_model.hpp"
#include "tests/strict_nccl/settings.hpp"

namespace plumbline::strict {

class StrictWorld {
 public:
  explicit StrictWorld(int ranks, Settings settings = {});
  ~StrictWorld();
  StrictWorld(const StrictWorld&) = delete;
  StrictWorld& operator=(const StrictWorld&) = delete;

  /// One rank's libraries.
  GpuApi gpu(int rank);

  /// Queues compute on the rank's compute stream.
  void launch(int rank, Kernel kernel);
  /// Whether all compute of the rank has completed; advances streams.
  bool compute_idle(int rank);
  Computed computed(int rank) const;

  /// Freezes the rank's GPU until `thaw`.
  void freeze(int rank);
  void thaw(int rank);
  /// An asynchronous error on the rank's communicators.
  void fail(int rank, const std::string& text);
  /// The rank's process has exited and the library has noticed: its peers' communicators fail.
  void lose(int rank);
  void let_aborts_return();

  /// Violations of a rule, and actions that no correct transport takes. Empty after a clean run.
  std::vector<std::string> findings() const;
  /// Objects created and not destroyed: streams, events, communicators, unfinished operations.
  std::vector<std::string> leftovers() const;
  /// Number of groups passed, and of messages in the largest of them.
  std::int64_t groups() const;
  std::int64_t largest_group() const;

 private:
  struct Shared;
  class Cuda;
  class Nccl;
  std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Cuda>> cuda_;
  std::vector<std::unique_ptr<Nccl>> nccl_;
};

}  // namespace plumbline::strict
