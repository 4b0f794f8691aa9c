// SPDX-License-Identifier: BSD-3-Clause
// A CUDA stream that its owner destroys.
#pragma once

#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {

class OwnedStream {
 public:
  explicit OwnedStream(CudaApi& cuda) : cuda_(cuda), stream_(cuda.create_stream()) {}
  ~OwnedStream() { cuda_.destroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  GpuStream get() const { return stream_; }

 private:
  CudaApi& cuda_;
  GpuStream stream_;
};

}  // namespace plumbline
