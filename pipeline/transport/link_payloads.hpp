// SPDX-License-Identifier: BSD-3-Clause
// Payloads in host memory, over the channels of a link.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "pipeline/transport/link.hpp"
#include "pipeline/transport/payload_channel.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

class LinkPayloads final : public PayloadChannel {
 public:
  /// The link outlives it.
  explicit LinkPayloads(Link& link) : link_(link) {}

  bool respects_capacity() const override { return link_.respects_capacity(); }
  Ticket send(int peer, Direction direction, const at::Tensor& payload) override;
  Ticket receive(int peer, Direction direction) override;
  void supply(Ticket receive, const at::Tensor& buffer) override;
  std::optional<std::size_t> test(Ticket ticket) override;

 private:
  using Edge = std::pair<int, Direction>;
  struct Receive {
    Edge edge;
    at::Tensor buffer;  ///< undefined until it is supplied
  };
  /// Receives on the link all that have their buffer, up to the first that has none: the channel has no tags, so a
  /// later one must not overtake it.
  void start_receives(const Edge& edge);

  Link& link_;
  Ticket last_ticket_ = 0;
  std::map<Ticket, Link::Ticket> started_;
  std::map<Ticket, Receive> waiting_;
  std::map<Edge, std::deque<Ticket>> order_;  ///< of the receives in waiting_
};

}  // namespace plumbline
