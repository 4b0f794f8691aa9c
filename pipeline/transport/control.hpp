// SPDX-License-Identifier: BSD-3-Clause
// Gather, broadcast, barrier and tied tensors over a link. Every message has a kind and a number, so that ranks that
// make different calls get an error instead of another call's data.
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
#include "pipeline/transport/wait_callback.hpp"

namespace plumbline {

enum class ControlKind : std::uint32_t { gather, broadcast, barrier, tied };

/// Precedes the bytes of every control message.
struct ControlHeader {
  std::uint32_t magic = 0x504c4354;  // "PLCT"
  ControlKind kind = ControlKind::barrier;
  std::uint64_t sequence = 0;  ///< number of the control message from this rank to that one
  std::uint64_t bytes = 0;
  std::int32_t dtype = 0;  ///< of a tied tensor
  std::int32_t dimensions = 0;
  std::array<std::int64_t, 4> sizes{};
  std::int64_t request = 0;  ///< 1: the sender, or for rank 0's broadcast any rank, has a request
};

class Control {
 public:
  /// Blocks until `ended` returns true; throws when the deadline passes. `what` completes "rank 2 waits for ...".
  using Wait = std::function<void(const std::string& what, const std::function<bool()>& ended)>;

  Control(Link& link, Wait wait) : link_(link), wait_(std::move(wait)) {}

  /// See Transport.
  void set_wait_callback(WaitCallback callback) { wait_callback_ = std::move(callback); }

  std::vector<std::string> gather(const std::string& bytes);
  std::string broadcast(const std::string& bytes);
  void barrier();
  /// See Transport.
  void carry_request(std::function<bool()> asked) { asked_ = std::move(asked); }
  bool request_carried() const { return carried_; }
  void send_tied(int peer, const at::Tensor& tensor);
  void receive_tied(int peer, at::Tensor& tensor);
  /// The header exchange of the two calls above, for tensors that another channel transfers: checks that both ends
  /// agree. Returns the description of the wait.
  std::string announce_tied(int peer, const at::Tensor& tensor);
  std::string expect_tied(int peer, const at::Tensor& tensor);

 private:
  /// Memory of messages in progress. Released only when the whole call has succeeded: after a missed deadline the other
  /// rank may still read or write it.
  struct PendingMessage {
    ControlHeader header;
    std::string bytes;
    at::Tensor tensor;
  };
  void wait(int peer, const std::string& what, const std::function<bool()>& ended);
  void send(const std::vector<int>& peers, const ControlHeader& header, const void* data);
  /// Receives the next header from `peer`, which must be of this kind.
  ControlHeader receive_header(int peer, ControlKind kind);
  ControlHeader receive_tied_header(int peer, const at::Tensor& tensor);
  void receive_bytes(int peer, const ControlHeader& header, void* data);
  /// `request`: set to true if the message carries one, else unchanged.
  std::string receive_text(int peer, ControlKind kind, bool& request);
  /// Sends a copy of `bytes`.
  void send_text(const std::vector<int>& peers, ControlKind kind, const std::string& bytes, bool request);
  std::vector<int> others() const;

  Link& link_;
  Wait wait_;
  WaitCallback wait_callback_;
  std::function<bool()> asked_;
  bool any_asked_ = false;  ///< rank 0: a rank had a request in a gather since the last broadcast
  bool carried_ = false;
  std::list<PendingMessage> pending_;
  std::map<int, std::uint64_t> sent_;
  std::map<int, std::uint64_t> received_;
};

}  // namespace plumbline
