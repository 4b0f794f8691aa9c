// SPDX-License-Identifier: BSD-3-Clause
// NCCL and CUDA for ranks that are threads of one process, in host memory: strict where the real libraries are lenient,
// and failing on demand. What it found wrong is read back by the test.
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

  /// Puts compute on the rank's compute stream.
  void launch(int rank, Kernel kernel);
  /// Whether all compute of the rank has ended; moves things on.
  bool compute_idle(int rank);

  /// The rank's GPU stands still, as one that is late, until `thaw`.
  void freeze(int rank);
  void thaw(int rank);
  /// An asynchronous error on the rank's communicators.
  void fail(int rank, const std::string& text);
  /// The rank's process is gone and the library has noticed: its peers' communicators fail.
  void lose(int rank);
  void let_aborts_return();

  /// Everything that broke a rule or that no correct transport does. Empty after a clean run.
  std::vector<std::string> findings() const;
  /// What was made and is still there: streams, events, communicators, work not done.
  std::vector<std::string> leftovers() const;
  /// Groups handed over, messages in the largest of them.
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
