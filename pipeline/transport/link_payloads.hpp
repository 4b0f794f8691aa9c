// SPDX-License-Identifier: BSD-3-Clause
// Payloads in host memory over a link's channels.
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
  /// The link must outlive this object.
  explicit LinkPayloads(Link& link) : link_(link) {}

  bool respects_capacity() const override { return link_.respects_capacity(); }
  Handle send(int peer, Direction direction, const at::Tensor& payload) override;
  Handle receive(int peer, Direction direction) override;
  void supply(Handle receive, const at::Tensor& buffer) override;
  std::optional<std::size_t> test(Handle handle) override;

 private:
  using Edge = std::pair<int, Direction>;
  struct Receive {
    Edge edge;
    at::Tensor buffer;  ///< undefined until supplied
  };
  /// Posts the receives that have a buffer, up to the first without one: the channel has no tags, so a later receive
  /// must not overtake it.
  void start_receives(const Edge& edge);

  Link& link_;
  Handle last_handle_ = 0;
  std::map<Handle, Link::Handle> started_;
  std::map<Handle, Receive> waiting_;
  std::map<Edge, std::deque<Handle>> order_;  ///< the receives in waiting_, in order
};

}  // namespace plumbline
