// SPDX-License-Identifier: BSD-3-Clause
// Long waits that ranks on several hosts announce to each other, since another host's heartbeat file may be stale.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/transport/endpoint.hpp"

namespace plumbline {

/// The message: whom its sender waits for.
struct WaitNote {
  std::int32_t peer = -1;      ///< -1: the wait has ended
  std::int32_t last = 0;       ///< 1: the sender's last message
  std::array<char, 120> what;  ///< completes "rank 2 waits for ..."
};

class WaitNotes {
 public:
  explicit WaitNotes(Endpoint& endpoint);
  /// Sends it to all other ranks; does not block.
  void announce(int peer, const std::string& what);
  /// Receives what the others have sent.
  void poll();
  /// The chain of waits that starts at this rank, which waits for `peer`, as text: "; rank 1 waits for RECV_F ... from
  /// rank 0; rank 0 has not reported that it waits". Appends these ranks to `chain`, with a repeated rank at its
  /// end. Does not follow a note older than `fresh`, whose rank would have announced the wait again: it may be
  /// stopped, and what it waited for may have come since.
  std::string describe_chain(int peer, std::chrono::milliseconds fresh, std::vector<std::int64_t>& chain) const;

  /// Before the orderly end: tells all other ranks that no more messages follow.
  void leave();
  /// Whether all other ranks have left and all messages of this rank have been received.
  bool all_left();

 private:
  using Clock = std::chrono::steady_clock;
  struct SentNote {
    WaitNote note;
    std::vector<std::unique_ptr<TransportRequest>> requests;
  };
  struct Other {
    int rank;
    WaitNote incoming, latest;
    Clock::time_point received;  ///< of `latest`
    std::unique_ptr<TransportRequest> request;
  };
  void send(const WaitNote& note);
  void start_receive(Other& other);

  Endpoint& endpoint_;
  std::list<Other> others_;  ///< list: messages are received into the nodes
  std::list<SentNote> sent_;
};

}  // namespace plumbline
