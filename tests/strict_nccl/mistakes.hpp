// SPDX-License-Identifier: BSD-3-Clause
// Mistakes in the use of CUDA and NCCL, injected between the transport and its libraries.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "tests/strict_nccl/forwarding_gpu.hpp"
#include "tests/strict_nccl/strict_transports.hpp"

namespace plumbline::strict {

/// No stream waits for an event.
class NoEventWaits : public ForwardingCuda {
 public:
  using ForwardingCuda::ForwardingCuda;
  void wait(GpuStream /*stream*/, GpuEvent /*event*/) override {}
};

/// Every call is its own group.
class SplitGroups : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void group_start() override { first_ = true; }
  NcclProgress group_end() override { return first_ ? NcclProgress::done : inner_.group_end(); }
  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    next();
    inner_.send(data, count, type, peer, communicator, stream);
  }
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    next();
    inner_.receive(data, count, type, peer, communicator, stream);
  }

 private:
  void next() {
    if (!first_) inner_.group_end();
    first_ = false;
    inner_.group_start();
  }
  bool first_ = true;
};

/// One communicator with a peer for both directions; use with JoinedStreams.
class JoinedDirections : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& config) override {
    if (joined_ == NcclCommunicator::none) joined_ = inner_.init_rank(id, ranks, rank, config);
    return joined_;
  }
  void finalize(NcclCommunicator communicator) override {
    if (!finalized_) inner_.finalize(communicator);
    finalized_ = true;
  }
  NcclState state(NcclCommunicator communicator) override {
    return joined_ == NcclCommunicator::none ? NcclState{} : inner_.state(communicator);
  }
  void destroy(NcclCommunicator communicator) noexcept override {
    if (close()) inner_.destroy(communicator);
  }
  void abort(NcclCommunicator communicator) noexcept override {
    if (close()) inner_.abort(communicator);
  }

 private:
  /// Whether this call is the first to close it, since two threads abort the two directions.
  bool close() { return joined_.exchange(NcclCommunicator::none) != NcclCommunicator::none; }

  std::atomic<NcclCommunicator> joined_ = NcclCommunicator::none;
  bool finalized_ = false;
};

class JoinedStreams : public ForwardingCuda {
 public:
  using ForwardingCuda::ForwardingCuda;
  GpuStream create_stream() override {
    if (stream_ == GpuStream::none) stream_ = inner_.create_stream();
    ++users_;
    return stream_;
  }
  void destroy(GpuStream stream) noexcept override {
    if (--users_ == 0) inner_.destroy(stream);
  }

 private:
  GpuStream stream_ = GpuStream::none;
  int users_ = 0;
};

/// Receives of a group are called in the opposite order.
class ReversedReceives : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    delayed_.insert(delayed_.begin(), {data, count, type, peer, communicator, stream});
  }
  NcclProgress group_end() override {
    for (const DelayedReceive& receive : delayed_) {
      inner_.receive(receive.data, receive.count, receive.type, receive.peer, receive.communicator, receive.stream);
    }
    delayed_.clear();
    return inner_.group_end();
  }

 private:
  struct DelayedReceive {
    void* data;
    std::size_t count;
    NcclType type;
    int peer;
    NcclCommunicator communicator;
    GpuStream stream;
  };
  std::vector<DelayedReceive> delayed_;
};

/// The element count of every receive except the first exchange's is `fewer` too small, or its type differs.
class OtherReceives : public ForwardingNccl {
 public:
  OtherReceives(NcclApi& inner, std::size_t fewer, bool other_type)
      : ForwardingNccl(inner), fewer_(fewer), other_type_(other_type) {}
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    const bool warm_up = count == 4096;
    if (!warm_up) count -= fewer_;
    if (!warm_up && other_type_) type = NcclType::int32;
    inner_.receive(data, count, type, peer, communicator, stream);
  }

 private:
  std::size_t fewer_;
  bool other_type_;
};

/// Treats ncclInProgress from a group's end as success.
class ImpatientGroups : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  NcclProgress group_end() override {
    inner_.group_end();
    return NcclProgress::done;
  }
};

/// The library refuses the n-th receive.
class RefusedReceive : public ForwardingNccl {
 public:
  RefusedReceive(NcclApi& inner, int which) : ForwardingNccl(inner), left_(which) {}
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    if (--left_ == 0) throw GpuError("ncclRecv", "invalid argument (planted)");
    inner_.receive(data, count, type, peer, communicator, stream);
  }

 private:
  int left_;
};

/// Receives wait for all compute queued before them.
class ReceivesAfterCompute : public ForwardingNccl {
 public:
  explicit ReceivesAfterCompute(GpuApi inner)
      : ForwardingNccl(inner.nccl), cuda_(inner.cuda), event_(inner.cuda.create_event()) {}
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    cuda_.record(event_, cuda_.compute_stream());
    cuda_.wait(stream, event_);
    inner_.receive(data, count, type, peer, communicator, stream);
  }

 private:
  CudaApi& cuda_;
  GpuEvent event_;
};

/// Injects one mistake on the given ranks; the libraries live as long as the seam.
template <typename MistakeOf>
GpuSeam plant_nccl(std::vector<int> ranks, MistakeOf make) {
  auto kept = std::make_shared<std::vector<std::unique_ptr<NcclApi>>>();
  return [ranks, make, kept](int rank, GpuApi inner) {
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) return inner;
    kept->push_back(make(inner.nccl));
    return GpuApi{inner.cuda, *kept->back()};
  };
}
template <typename Mistake>
GpuSeam plant_nccl(std::vector<int> ranks) {
  return plant_nccl(std::move(ranks), [](NcclApi& inner) { return std::make_unique<Mistake>(inner); });
}
template <typename Mistake>
GpuSeam plant_cuda(std::vector<int> ranks) {
  auto kept = std::make_shared<std::vector<std::unique_ptr<CudaApi>>>();
  return [ranks, kept](int rank, GpuApi inner) {
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) return inner;
    kept->push_back(std::make_unique<Mistake>(inner.cuda));
    return GpuApi{*kept->back(), inner.nccl};
  };
}

/// Both of them.
inline GpuSeam both(GpuSeam first, GpuSeam second) {
  return [first = std::move(first), second = std::move(second)](int rank, GpuApi inner) {
    return second(rank, first(rank, inner));
  };
}

}  // namespace plumbline::strict
