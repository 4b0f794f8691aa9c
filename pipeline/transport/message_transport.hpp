// SPDX-License-Identifier: BSD-3-Clause
// The transport over a link for headers and control and a channel for payloads: header before data, order for each
// edge, deadlines, traffic. What the two are made of does not matter here.
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
  /// Without `payloads` they go over the link too.
  MessageTransport(std::unique_ptr<Link> link, TransportSettings settings,
                   std::unique_ptr<PayloadChannel> payloads = nullptr);
  ~MessageTransport() override;

  int rank() const override { return link_->rank(); }
  int world_size() const override { return link_->world_size(); }

  void connect(const std::vector<RankPair>& pairs) override;

  void start_steps() override { settings_.starting = false; }
  void leave_steps() override { settings_.starting = true; }
  void show_waits(WaitsFor shown) override;
  std::vector<OperationId> post(std::vector<Operation> batch) override;
  bool test(OperationId id) override;
  at::Tensor wait(OperationId id) override;
  void reap_sends() override;

  std::vector<TrafficCount> take_traffic() override { return traffic_.take(); }

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
  struct Open {
    Operation operation;  ///< its payload is what is sent, or the receive's buffer once that is allocated
    MessageHeader got;    ///< a receive's header lands here
    std::optional<Link::Ticket> header;
    PayloadChannel::Ticket payload = 0;
    bool buffer_supplied = false;
    bool header_checked = false;
    bool payload_moved = false;
    bool ended = false;
  };

  OperationId start_send(Operation operation);
  OperationId start_receive(Operation operation);
  /// Counts messages between this rank and a peer in one direction and one sense.
  std::uint64_t& sequence(const Operation& operation);
  void supply(Open& open);
  void advance_headers();
  void advance_payload(Open& open);
  /// Moves all open operations on; sends that have ended are dropped, with their tensors.
  void progress();
  bool has_ended(OperationId id);
  /// `what` completes "rank 2 waits for ...".
  void wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended);
  void wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended, bool starting);
  [[noreturn]] void passed(const std::string& what, std::chrono::milliseconds timeout, bool starting);
  void wait_for_payload(const std::string& what, PayloadChannel::Ticket ticket);
  /// A failed transport stays failed: after a throw its channels may be out of step.
  template <typename Body>
  auto guarded(const Body& body);

  std::unique_ptr<Link> link_;
  std::unique_ptr<PayloadChannel> payloads_;
  TransportSettings settings_;
  Control::Wait starting_wait_;
  Control starting_;  ///< of `connect`; of its own, so that the control calls of the run are numbered from 0
  Control control_;
  WaitsFor shown_;
  std::optional<WaitNotes> notes_;
  int awaited_ = -1;  ///< the rank that is waited for now
  TrafficCounter traffic_;
  std::map<OperationId, Open> open_;  ///< in the order posted; nodes do not move, so messages may land in them
  std::map<std::tuple<int, Direction, bool>, std::uint64_t> sequences_;
  std::uint64_t posted_ = 0;
  std::string failure_;
  bool finished_ = false;
};

}  // namespace plumbline
