// SPDX-License-Identifier: BSD-3-Clause
// Libraries that forward every call: the base of injected mistakes.
#pragma once

#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline::strict {

class ForwardingCuda : public CudaApi {
 public:
  explicit ForwardingCuda(CudaApi& inner) : inner_(inner) {}
  GpuStream compute_stream() override { return inner_.compute_stream(); }
  GpuStream create_stream() override { return inner_.create_stream(); }
  void destroy(GpuStream stream) noexcept override { inner_.destroy(stream); }
  std::shared_ptr<void> allocate_with(GpuStream stream) override { return inner_.allocate_with(stream); }
  GpuEvent create_event() override { return inner_.create_event(); }
  void destroy(GpuEvent event) noexcept override { inner_.destroy(event); }
  void record(GpuEvent event, GpuStream stream) override { inner_.record(event, stream); }
  bool reached(GpuEvent event) override { return inner_.reached(event); }
  void wait(GpuStream stream, GpuEvent event) override { inner_.wait(stream, event); }

 protected:
  CudaApi& inner_;
};

class ForwardingNccl : public NcclApi {
 public:
  explicit ForwardingNccl(NcclApi& inner) : inner_(inner) {}
  int version() override { return inner_.version(); }
  std::string unique_id() override { return inner_.unique_id(); }
  NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& config) override {
    return inner_.init_rank(id, ranks, rank, config);
  }
  NcclState state(NcclCommunicator communicator) override { return inner_.state(communicator); }
  void group_start() override { inner_.group_start(); }
  NcclProgress group_end() override { return inner_.group_end(); }
  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    inner_.send(data, count, type, peer, communicator, stream);
  }
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    inner_.receive(data, count, type, peer, communicator, stream);
  }
  void finalize(NcclCommunicator communicator) override { inner_.finalize(communicator); }
  void destroy(NcclCommunicator communicator) noexcept override { inner_.destroy(communicator); }
  void abort(NcclCommunicator communicator) noexcept override { inner_.abort(communicator); }

 protected:
  NcclApi& inner_;
};

}  // namespace plumbline::strict
