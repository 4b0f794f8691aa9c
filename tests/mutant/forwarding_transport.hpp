// SPDX-License-Identifier: BSD-3-Clause
// A transport that hands everything on: what the faulty ones are made from.
#pragma once

#include <functional>
#include <utility>

#include "pipeline/transport/operation.hpp"
#include "pipeline/transport/traffic_counter.hpp"
#include "pipeline/transport/transport.hpp"

namespace plumbline::mutant {

class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  void start_steps() override { inner_.start_steps(); }
  void leave_steps() override { inner_.leave_steps(); }
  void carry_request(std::function<bool()> asked) override { inner_.carry_request(std::move(asked)); }
  bool request_carried() const override { return inner_.request_carried(); }
  std::vector<OperationId> post(std::vector<Operation> batch) override { return inner_.post(std::move(batch)); }
  bool test(OperationId id) override { return inner_.test(id); }
  at::Tensor wait(OperationId id) override { return inner_.wait(id); }
  void wait_for_sends() override { inner_.wait_for_sends(); }
  std::vector<TrafficCount> collect_traffic() override { return inner_.collect_traffic(); }
  void set_wait_callback(WaitCallback shown) override { inner_.set_wait_callback(std::move(shown)); }
  std::vector<std::string> gather(const std::string& bytes) override { return inner_.gather(bytes); }
  std::string broadcast(const std::string& bytes) override { return inner_.broadcast(bytes); }
  void barrier() override { inner_.barrier(); }
  void send_tied(int peer, const at::Tensor& tensor) override { inner_.send_tied(peer, tensor); }
  void receive_tied(int peer, at::Tensor& tensor) override { inner_.receive_tied(peer, tensor); }
  void finish() override { inner_.finish(); }
  void abort(const std::string& reason, ExitCode code) noexcept override { inner_.abort(reason, code); }

 protected:
  Transport& inner_;
};

}  // namespace plumbline::mutant
