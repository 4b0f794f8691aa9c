// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/control.hpp"

#include <array>
#include <span>
#include <utility>

#include "support/error.hpp"

namespace plumbline {
namespace {

std::string text(ControlKind kind, std::uint64_t sequence) {
  constexpr std::array names = {"gather", "broadcast", "barrier"};
  const auto index = static_cast<std::size_t>(kind);
  return std::string(index < names.size() ? names[index] : "unknown call") + " (control message " +
         std::to_string(sequence) + ")";
}

ControlHeader header_of(ControlKind kind, std::size_t bytes) {
  ControlHeader header;
  header.kind = kind;
  header.bytes = bytes;
  return header;
}

}  // namespace

std::vector<int> Control::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < endpoint_.world_size(); ++rank) {
    if (rank != endpoint_.rank()) ranks.push_back(rank);
  }
  return ranks;
}

void Control::wait(int peer, const std::string& what, TransportRequest& request) {
  if (wait_callback_) wait_callback_(peer);
  wait_(what, [&] { return request.test(); });
  if (wait_callback_) wait_callback_(-1);
}

void Control::send(const std::vector<int>& peers, const ControlHeader& header, ConstBytes body) {
  std::vector<std::pair<int, Message*>> sent;
  for (const int peer : peers) {
    Message& message = in_progress_.emplace_back();
    message.header = header;
    message.header.sequence = sent_[peer]++;
    message.request = endpoint_.send(peer, Channel::control, bytes_of(std::as_const(message.header)), body);
    sent.emplace_back(peer, &message);
  }
  for (const auto& [peer, message] : sent) {
    wait(peer, "rank " + std::to_string(peer) + " to take " + text(header.kind, message->header.sequence),
         *message->request);
  }
}

Control::Message& Control::receive(int peer, ControlKind kind, const std::function<Bytes(Message&)>& place) {
  const std::uint64_t sequence = received_[peer]++;
  Message& message = in_progress_.emplace_back();
  const auto checked_place = [this, peer, kind, sequence, place, &message] {
    const ControlHeader& header = message.header;
    if (header.magic != ControlHeader{}.magic || header.kind != kind || header.sequence != sequence) {
      throw RunError("rank " + std::to_string(endpoint_.rank()) + " expected " + text(kind, sequence) + " from rank " +
                     std::to_string(peer) + ", which sent " + text(header.kind, header.sequence) +
                     ": the ranks do not make the same control calls in the same order");
    }
    return place(message);
  };
  message.request = endpoint_.receive(peer, Channel::control, bytes_of(message.header), checked_place);
  const std::string what = text(kind, sequence) + " from rank " + std::to_string(peer);
  wait(peer, what, *message.request);
  if (message.request->body_bytes() == message.header.bytes) return message;
  throw RunError(what + " brought " + std::to_string(message.request->body_bytes()) + " bytes to rank " +
                 std::to_string(endpoint_.rank()) + ", not " + std::to_string(message.header.bytes));
}

void Control::send_text(const std::vector<int>& peers, ControlKind kind, const std::string& bytes, bool request) {
  const std::string& kept = in_progress_.emplace_back(Message{{}, bytes, {}}).bytes;
  ControlHeader header = header_of(kind, kept.size());
  header.request = request ? 1 : 0;
  send(peers, header, std::as_bytes(std::span(kept)));
}

std::string Control::receive_text(int peer, ControlKind kind, bool& request) {
  Message& message = receive(peer, kind, [](Message& got) {
    got.bytes.resize(got.header.bytes);
    return std::as_writable_bytes(std::span(got.bytes));
  });
  request = request || message.header.request != 0;
  return std::move(message.bytes);
}

std::vector<std::string> Control::gather(const std::string& bytes) {
  std::vector<std::string> all;
  if (endpoint_.rank() == 0) {
    all.push_back(bytes);
    for (const int peer : others()) all.push_back(receive_text(peer, ControlKind::gather, any_asked_));
  } else {
    send_text({0}, ControlKind::gather, bytes, asked_ && asked_());
  }
  in_progress_.clear();
  return all;
}

std::string Control::broadcast(const std::string& bytes) {
  std::string same = bytes;
  carried_ = false;
  if (endpoint_.rank() == 0) {
    carried_ = std::exchange(any_asked_, false) || (asked_ && asked_());
    send_text(others(), ControlKind::broadcast, bytes, carried_);
  } else {
    same = receive_text(0, ControlKind::broadcast, carried_);
  }
  in_progress_.clear();
  return same;
}

void Control::barrier() {
  const ControlHeader header = header_of(ControlKind::barrier, 0);
  const auto hear = [&](int peer) { receive(peer, ControlKind::barrier, [](Message&) { return Bytes(); }); };
  if (endpoint_.rank() == 0) {
    for (const int peer : others()) hear(peer);
    send(others(), header, {});
  } else {
    send({0}, header, {});
    hear(0);
  }
  in_progress_.clear();
}

}  // namespace plumbline
