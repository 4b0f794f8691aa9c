// SPDX-License-Identifier: BSD-3-Clause
// Gather, broadcast, barrier and tied tensors over a link. Each message is named and numbered, so that ranks that do
// not make the same calls find out instead of mixing them up.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/transport/link.hpp"
#include "pipeline/transport/waits_for.hpp"

namespace plumbline {

enum class ControlKind : std::uint32_t { gather, broadcast, barrier, tied };

/// Sent before the bytes of every control message.
struct ControlHeader {
  std::uint32_t magic = 0x504c4354;  // "PLCT"
  ControlKind kind = ControlKind::barrier;
  std::uint64_t sequence = 0;  ///< counts control messages from this rank to that one
  std::uint64_t bytes = 0;
  std::int32_t dtype = 0;  ///< of a tied tensor
  std::int32_t dimensions = 0;
  std::array<std::int64_t, 4> sizes{};
  std::int64_t request = 0;  ///< 1: the sender, or with rank 0's broadcast any rank, was asked for something
};

class Control {
 public:
  /// Returns when `ended` says so; throws when the deadline passes. `what` completes "rank 2 waits for ...".
  using Wait = std::function<void(const std::string& what, const std::function<bool()>& ended)>;

  Control(Link& link, Wait wait) : link_(link), wait_(std::move(wait)) {}

  /// As Transport has it.
  void show_waits(WaitsFor shown) { shown_ = std::move(shown); }

  std::vector<std::string> gather(const std::string& bytes);
  std::string broadcast(const std::string& bytes);
  void barrier();
  /// As Transport has them.
  void carry_request(std::function<bool()> asked) { asked_ = std::move(asked); }
  bool request_carried() const { return carried_; }
  void send_tied(int peer, const at::Tensor& tensor);
  void receive_tied(int peer, at::Tensor& tensor);
  /// The first half of the two above, where something else carries the tensor itself: both ends agree on what comes.
  /// Returns what a wait for it is a wait for.
  std::string announce_tied(int peer, const at::Tensor& tensor);
  std::string expect_tied(int peer, const at::Tensor& tensor);

 private:
  /// What a message under way points into. Given up only when the whole call has succeeded: after a passed deadline the
  /// other rank may still read or fill it.
  struct Kept {
    ControlHeader header;
    std::string bytes;
    at::Tensor tensor;
  };
  void wait(int peer, const std::string& what, const std::function<bool()>& ended);
  void send(const std::vector<int>& peers, const ControlHeader& header, const void* data);
  /// The next header from `peer`, which must be of this kind.
  ControlHeader receive_header(int peer, ControlKind kind);
  ControlHeader receive_tied_header(int peer, const at::Tensor& tensor);
  void receive_bytes(int peer, const ControlHeader& header, void* data);
  /// `request`: set where the message carries one, else left as it is.
  std::string receive_text(int peer, ControlKind kind, bool& request);
  /// Sends a copy of `bytes`.
  void send_text(const std::vector<int>& peers, ControlKind kind, const std::string& bytes, bool request);
  std::vector<int> others() const;

  Link& link_;
  Wait wait_;
  WaitsFor shown_;
  std::function<bool()> asked_;
  bool any_asked_ = false;  ///< on rank 0: a rank that gathered since the last broadcast
  bool carried_ = false;
  std::list<Kept> kept_;
  std::map<int, std::uint64_t> sent_;
  std::map<int, std::uint64_t> received_;
};

}  // namespace plumbline
