// SPDX-License-Identifier: BSD-3-Clause
// The transport of one replica of the pipeline: its ranks count from 0. Control calls remain those of all replicas.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// Ranks first_rank ... first_rank + ranks - 1 of the run. Messages between replicas are not its traffic.
class ReplicaTransport : public Transport {
 public:
  /// `world` must outlive this object.
  ReplicaTransport(Transport& world, int first_rank, int ranks)
      : world_(world), first_rank_(first_rank), ranks_(ranks) {}

  int rank() const override { return world_.rank() - first_rank_; }
  int world_size() const override { return ranks_; }

  void start_steps() override { world_.start_steps(); }
  void leave_steps() override { world_.leave_steps(); }
  /// Called with ranks of the run.
  void set_wait_callback(WaitCallback callback) override { world_.set_wait_callback(std::move(callback)); }

  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    return world_.send(first_rank_ + peer, header, std::move(payload));
  }
  using Transport::receive;
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    return world_.receive(first_rank_ + peer, expected, std::move(into));
  }
  void end_batch() override { world_.end_batch(); }
  void wait_for_payloads() override { world_.wait_for_payloads(); }
  void wait_for_sends() override { world_.wait_for_sends(); }
  std::vector<TrafficCount> collect_traffic() override {
    std::vector<TrafficCount> own;
    for (TrafficCount& count : world_.collect_traffic()) {
      count.peer -= first_rank_;
      if (count.peer >= 0 && count.peer < ranks_) own.push_back(count);
    }
    return own;
  }

  // Of all ranks of the run, rank 0 of which gathers and broadcasts.
  std::vector<std::string> gather(const std::string& bytes) override { return world_.gather(bytes); }
  std::string broadcast(const std::string& bytes) override { return world_.broadcast(bytes); }
  void barrier() override { world_.barrier(); }
  void carry_request(std::function<bool()> asked) override { world_.carry_request(std::move(asked)); }
  bool request_carried() const override { return world_.request_carried(); }
  void send_tensor(int peer, const at::Tensor& tensor) override { world_.send_tensor(first_rank_ + peer, tensor); }
  void receive_tensor(int peer, at::Tensor& tensor) override { world_.receive_tensor(first_rank_ + peer, tensor); }
  void abort(const std::string& reason, ExitCode code) noexcept override { world_.abort(reason, code); }
  void finish() override { world_.finish(); }

 private:
  Transport& world_;
  int first_rank_;
  int ranks_;
};

}  // namespace plumbline
