// SPDX-License-Identifier: BSD-3-Clause
// Implements the NCCL transport's NCCL interface with libnccl.
#pragma once

#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {

class NcclLibrary final : public NcclApi {
 public:
  int version() override;
  std::string unique_id() override;
  NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& config) override;
  NcclState state(NcclCommunicator communicator) override;
  void group_start() override;
  NcclProgress group_end() override;
  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override;
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override;
  void finalize(NcclCommunicator communicator) override;
  void destroy(NcclCommunicator communicator) noexcept override;
  void abort(NcclCommunicator communicator) noexcept override;
};

}  // namespace plumbline
