// SPDX-License-Identifier: BSD-3-Clause
// The threads' transports, with callbacks of a test around their calls.
#pragma once

#include <ATen/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/launch.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "tests/pipeline/limited_threads.hpp"

namespace plumbline {

/// Called by each rank's own thread.
struct Around {
  /// Before these calls, by their names, and as "ended_batch" after end_batch.
  std::function<void(int rank, const std::string& call)> call = [](int, const std::string&) {};
  std::function<void(int rank, const MessageHeader& header)> before_message = [](int, const MessageHeader&) {};
  /// Before the wait for a received message.
  std::function<void(int rank, const MessageHeader& header)> before_wait = [](int, const MessageHeader&) {};
  std::function<void(int rank, const MessageHeader& header, at::Tensor& tensor)> received =
      [](int, const MessageHeader&, at::Tensor&) {};
};

class WatchedTransport : public mutant::ForwardingTransport {
 public:
  WatchedTransport(std::unique_ptr<Transport> inner, const Around& around)
      : ForwardingTransport(*inner), kept_(std::move(inner)), around_(around) {}

  void barrier() override {
    around_.call(rank(), "barrier");
    inner_.barrier();
  }
  void enter_steps() override {
    around_.call(rank(), "enter_steps");
    inner_.enter_steps();
  }
  void leave_steps() override {
    around_.call(rank(), "leave_steps");
    inner_.leave_steps();
  }
  void abort(const std::string& reason, ExitCode code) noexcept override {
    around_.call(rank(), "abort");
    inner_.abort(reason, code);
  }
  void end_batch() override {
    around_.call(rank(), "end_batch");
    inner_.end_batch();
    around_.call(rank(), "ended_batch");
  }
  std::vector<TrafficCount> collect_traffic() override {
    around_.call(rank(), "collect_traffic");
    return inner_.collect_traffic();
  }
  std::vector<std::string> gather(const std::string& bytes) override {
    around_.call(rank(), "gather");
    return inner_.gather(bytes);
  }
  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    around_.before_message(rank(), header);
    return inner_.send(peer, header, std::move(payload));
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    around_.before_message(rank(), expected);
    return mutant::with_wait(inner_.receive(peer, expected, std::move(into)), [this, expected](Pending& inner) {
      around_.before_wait(rank(), expected);
      at::Tensor tensor = inner->wait();
      around_.received(rank(), expected, tensor);
      return tensor;
    });
  }

 private:
  std::unique_ptr<Transport> kept_;
  const Around around_;
};

inline TransportsFactory watched(const Around& around) {
  return [around](int world, TransportSettings settings) {
    auto transports = limited_threads(world, settings);
    for (auto& each : transports) each = std::make_unique<WatchedTransport>(std::move(each), around);
    return transports;
  };
}

}  // namespace plumbline
