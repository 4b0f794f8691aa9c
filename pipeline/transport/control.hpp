// SPDX-License-Identifier: BSD-3-Clause
// Gather, broadcast and barrier. Every message has a kind and a number, so that ranks that make different calls get an
// error instead of another call's data.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/transport/endpoint.hpp"
#include "pipeline/transport/transport.hpp"

namespace plumbline {

enum class ControlKind : std::uint32_t { gather, broadcast, barrier };

/// The head of every control message.
struct ControlHeader {
  std::uint32_t magic = 0x504c4354;  // "PLCT"
  ControlKind kind = ControlKind::barrier;
  std::uint64_t sequence = 0;  ///< number of the control message from this rank to that one
  std::uint64_t bytes = 0;     ///< of its body
  std::int64_t request = 0;    ///< 1: the sender, or for rank 0's broadcast any rank, has a request
};

class Control {
 public:
  /// Blocks until `ended` returns true; throws when the deadline passes. `what` completes "rank 2 waits for ...".
  using Wait = std::function<void(const std::string& what, const std::function<bool()>& ended)>;

  Control(Endpoint& endpoint, Wait wait) : endpoint_(endpoint), wait_(std::move(wait)) {}

  /// See Transport.
  void set_wait_callback(WaitCallback callback) { wait_callback_ = std::move(callback); }

  std::vector<std::string> gather(const std::string& bytes);
  std::string broadcast(const std::string& bytes);
  void barrier();
  /// See Transport.
  void carry_request(std::function<bool()> asked) { asked_ = std::move(asked); }
  bool request_carried() const { return endpoint_.world_size() == 1 ? asked_ && asked_() : carried_; }

 private:
  /// A message in progress and its memory. Released only when the whole call has succeeded: after a missed deadline the
  /// other rank may still read or write it.
  struct Message {
    ControlHeader header;
    std::string bytes;
    std::unique_ptr<TransportRequest> request;
  };
  void wait(int peer, const std::string& what, TransportRequest& request);
  /// Sends it to all peers at once.
  void send(const std::vector<int>& peers, const ControlHeader& header, ConstBytes body);
  /// Receives the next message from `peer`, which must be of this kind. `place`: after the header's check.
  Message& receive(int peer, ControlKind kind, const std::function<Bytes(Message&)>& place);
  /// Sends a copy of `bytes`.
  void send_text(const std::vector<int>& peers, ControlKind kind, const std::string& bytes, bool request);
  /// `request`: set to true if the message carries one, else unchanged.
  std::string receive_text(int peer, ControlKind kind, bool& request);
  std::vector<int> others() const;

  Endpoint& endpoint_;
  Wait wait_;
  WaitCallback wait_callback_;
  std::function<bool()> asked_;
  bool any_asked_ = false;  ///< rank 0: a rank had a request in a gather since the last broadcast
  bool carried_ = false;
  std::list<Message> in_progress_;
  std::map<int, std::uint64_t> sent_;
  std::map<int, std::uint64_t> received_;
};

}  // namespace plumbline
