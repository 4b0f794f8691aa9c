// SPDX-License-Identifier: BSD-3-Clause
// Implements Transport: an endpoint carries headers, control messages and, unless NCCL does, payloads. Checks headers,
// keeps deadlines, counts traffic.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/endpoint.hpp"
#include "pipeline/transport/message.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/wait_notes.hpp"

namespace plumbline {

class MessageTransport final : public Transport {
 public:
  /// `staged`: payloads are tensors of this device and travel through host memory. `nccl`: it carries the payloads, and
  /// nothing is staged.
  MessageTransport(std::unique_ptr<Endpoint> endpoint, TransportSettings settings,
                   std::optional<at::Device> staged = {}, std::unique_ptr<NcclPayloads> nccl = nullptr);
  ~MessageTransport() override;

  int rank() const override { return endpoint_->rank(); }
  int size() const override { return endpoint_->world_size(); }

  void connect(const std::vector<ConnectedRanks>& connections) override;

  void enter_steps() override { limit_ = step_limit(); }
  void leave_steps() override { limit_ = {settings_.save_timeout, " for a checkpoint", "checkpoint.timeout_ms"}; }
  void set_wait_callback(WaitCallback callback) override;
  void show_long_waits(std::function<void(const std::string&)> show, std::chrono::milliseconds patience) override {
    show_ = std::move(show);
    patience_ = patience;
  }
  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override;
  using Transport::receive;
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override;
  void end_batch() override;
  void wait_for_payloads() override;
  void wait_for_sends() override;

  std::vector<TrafficCount> collect_traffic() override { return traffic_.take(); }

  std::vector<std::string> gather(const std::string& bytes) override;
  std::string broadcast(const std::string& bytes) override;
  void barrier() override;
  void carry_request(std::function<bool()> asked) override { control_.carry_request(std::move(asked)); }
  bool request_carried() const override { return control_.request_carried(); }
  void abort(const std::string& reason, ExitCode code) noexcept override;
  void finish() override;

 private:
  /// The longest time of a wait; the error names `what` waited, and the key that raises the limit.
  struct Limit {
    std::chrono::milliseconds time;
    const char* what;
    const char* key;
  };
  Limit start_limit() const { return {settings_.start_timeout, " for start-up", "pipeline.start_timeout_ms"}; }
  Limit step_limit() const { return {settings_.timeout, "", "pipeline.timeout_ms"}; }
  struct OpenMessage;
  using Opened = std::shared_ptr<OpenMessage>;

  /// `tensor`: undefined where a receive allocates it.
  Opened open(MessageEnd end, at::Tensor tensor);
  /// Whether the header is sent. Over NCCL, replicas send headers in the first step only: the shapes are the
  /// parameters', and payloads arrive in order.
  bool announces(const MessageHeader& header);
  /// Where the payload of a message goes whose header has come, after checking that.
  Bytes place(OpenMessage& receive);
  at::Device device() const;
  /// Advances all messages and forgets those that have ended.
  void progress();
  bool test(const OpenMessage& message);
  at::Tensor wait(OpenMessage& message);
  /// Blocks until at most `most` of the open messages are chosen ones; tells the callback for whom.
  void wait_for_open(bool (*chosen)(const OpenMessage&), std::ptrdiff_t most);
  static bool is_handed_on(const OpenMessage& message);
  /// `what` completes "rank 2 waits for ...".
  void wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended);
  /// The chain of waits that begins with the rank that this one waits for.
  struct Behind {
    std::string text;  ///< "; rank 1 waits for ..."
    std::vector<std::int64_t> ranks;
  };
  Behind waits_behind() const;
  [[noreturn]] void throw_deadline_error(const std::string& what);
  /// After an exception every further call throws it again: the channels may be out of step.
  template <typename Body>
  auto guarded(const Body& body);

  std::unique_ptr<Endpoint> endpoint_;
  std::optional<at::Device> staged_;
  std::unique_ptr<NcclPayloads> nccl_;
  TransportSettings settings_;
  Limit limit_;  ///< of waits now
  Control control_;
  WaitCallback wait_callback_;
  std::optional<WaitNotes> notes_;
  std::function<void(const std::string&)> show_;
  std::chrono::milliseconds patience_{0};
  int awaited_ = -1;  ///< the rank that this rank waits for
  TrafficCounter traffic_;
  std::vector<Opened> open_;  ///< in the order started
  std::map<std::tuple<int, Direction, bool>, std::uint64_t> sequences_;
  std::optional<std::int64_t> first_step_;  ///< in which replicas exchanged a message
  std::string failure_;
  bool finished_ = false;
};

}  // namespace plumbline
