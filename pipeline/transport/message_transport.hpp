// SPDX-License-Identifier: BSD-3-Clause
// Implements Transport with a link for headers and control messages and a channel for payloads: headers before data,
// order on each edge, deadlines, traffic counts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/link.hpp"
#include "pipeline/transport/message_header.hpp"
#include "pipeline/transport/operation.hpp"
#include "pipeline/transport/payload_channel.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "pipeline/transport/traffic_counter.hpp"
#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "pipeline/transport/wait_notes.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

class MessageTransport final : public Transport {
 public:
  /// Without `payloads`, payloads are sent over the link.
  MessageTransport(std::unique_ptr<Link> link, TransportSettings settings,
                   std::unique_ptr<PayloadChannel> payloads = nullptr);
  ~MessageTransport() override;

  int rank() const override { return link_->rank(); }
  int world_size() const override { return link_->world_size(); }

  void connect(const std::vector<RankPair>& pairs) override;

  void start_steps() override { settings_.starting = false; }
  void leave_steps() override { settings_.starting = true; }
  void set_wait_callback(WaitCallback callback) override;
  std::vector<OperationId> post(std::vector<Operation> batch) override;
  bool test(OperationId id) override;
  at::Tensor wait(OperationId id) override;
  void wait_for_sends() override;

  std::vector<TrafficCount> collect_traffic() override { return traffic_.take(); }

  std::vector<std::string> gather(const std::string& bytes) override;
  std::string broadcast(const std::string& bytes) override;
  void barrier() override;
  void carry_request(std::function<bool()> asked) override { control_.carry_request(std::move(asked)); }
  bool request_carried() const override { return control_.request_carried(); }
  void send_tied(int peer, const at::Tensor& tensor) override;
  void receive_tied(int peer, at::Tensor& tensor) override;
  void abort(const std::string& reason, ExitCode code) noexcept override;
  void finish() override;

 private:
  struct PendingOperation {
    Operation operation;     ///< its payload is the data to send, or the receive's buffer once allocated
    MessageHeader received;  ///< received header
    std::optional<Link::Handle> header;
    PayloadChannel::Handle payload = 0;
    bool buffer_supplied = false;
    bool header_checked = false;
    bool payload_moved = false;
    bool ended = false;
  };

  OperationId start_send(Operation operation);
  OperationId start_receive(Operation operation);
  /// Number of the next message to or from a peer in one direction.
  std::uint64_t& sequence(const Operation& operation);
  void supply(PendingOperation& pending);
  void advance_headers();
  void advance_payload(PendingOperation& pending);
  /// Advances all pending operations; releases completed sends and their tensors.
  void progress();
  bool has_ended(OperationId id);
  /// `what` completes "rank 2 waits for ...".
  void wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended);
  void wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended, bool starting);
  [[noreturn]] void throw_deadline_error(const std::string& what, std::chrono::milliseconds timeout, bool starting);
  void wait_for_payload(const std::string& what, PayloadChannel::Handle handle);
  /// After an exception every further call throws it again: the channels may be out of step.
  template <typename Body>
  auto guarded(const Body& body);

  std::unique_ptr<Link> link_;
  std::unique_ptr<PayloadChannel> payloads_;
  TransportSettings settings_;
  Control::Wait starting_wait_;
  Control starting_;  ///< for `connect`; separate, so that the run's control calls are numbered from 0
  Control control_;
  WaitCallback wait_callback_;
  std::optional<WaitNotes> notes_;
  int awaited_ = -1;  ///< the rank that this rank waits for
  TrafficCounter traffic_;
  std::map<OperationId, PendingOperation>
      pending_;  ///< in the order posted; map nodes do not move, so messages may be received into them
  std::map<std::tuple<int, Direction, bool>, std::uint64_t> sequences_;
  std::uint64_t posted_ = 0;
  std::string failure_;
  bool finished_ = false;
};

}  // namespace plumbline
