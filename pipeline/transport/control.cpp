// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/control.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "pipeline/transport/message.hpp"
#include "pipeline/transport/message_header.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

std::string text(ControlKind kind, std::uint64_t sequence) {
  constexpr std::array<const char*, 4> names = {"gather", "broadcast", "barrier", "tied tensor"};
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

ControlHeader tied_header(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_contiguous() || tensor.dim() > 4) {
    throw std::logic_error("a tied tensor must be contiguous and have at most 4 dimensions");
  }
  ControlHeader header = header_of(ControlKind::tied, tensor.nbytes());
  header.dtype = static_cast<std::int32_t>(tensor.scalar_type());
  header.dimensions = static_cast<std::int32_t>(tensor.dim());
  for (std::int64_t i = 0; i < tensor.dim(); ++i) header.sizes[static_cast<std::size_t>(i)] = tensor.size(i);
  return header;
}

std::string tied_text(const ControlHeader& header) {
  MessageHeader shape;
  shape.dtype = header.dtype;
  shape.dimensions = header.dimensions;
  shape.sizes = header.sizes;
  return shape_text(shape);
}

}  // namespace

std::vector<int> Control::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < link_.world_size(); ++rank) {
    if (rank != link_.rank()) ranks.push_back(rank);
  }
  return ranks;
}

void Control::wait(int peer, const std::string& what, const std::function<bool()>& ended) {
  if (wait_callback_) wait_callback_(peer);
  wait_(what, ended);
  if (wait_callback_) wait_callback_(-1);
}

void Control::send(const std::vector<int>& peers, const ControlHeader& header, const void* data) {
  struct Sent {
    int peer;
    std::uint64_t sequence;
    Link::Handle handle;
  };
  // Post to all peers at once, so that a slow rank does not delay the others.
  std::vector<Sent> sent;
  for (const int peer : peers) {
    ControlHeader& numbered = pending_.emplace_back(PendingMessage{header, {}, {}}).header;
    numbered.sequence = sent_[peer]++;
    sent.push_back({peer, numbered.sequence, link_.send(peer, Channel::control, &numbered, sizeof(numbered))});
    if (header.bytes == 0) continue;
    sent.push_back({peer, numbered.sequence, link_.send(peer, Channel::control, data, header.bytes)});
  }
  for (const Sent& message : sent) {
    wait(message.peer, "rank " + std::to_string(message.peer) + " to take " + text(header.kind, message.sequence),
         [&] { return link_.test(message.handle).has_value(); });
  }
}

void Control::send_text(const std::vector<int>& peers, ControlKind kind, const std::string& bytes, bool request) {
  const PendingMessage& pending = pending_.emplace_back(PendingMessage{{}, bytes, {}});
  ControlHeader header = header_of(kind, bytes.size());
  header.request = request ? 1 : 0;
  send(peers, header, pending.bytes.data());
}

ControlHeader Control::receive_header(int peer, ControlKind kind) {
  const std::uint64_t sequence = received_[peer]++;
  ControlHeader& header = pending_.emplace_back().header;
  const Link::Handle handle = link_.receive(peer, Channel::control, &header, sizeof(header));
  wait(peer, text(kind, sequence) + " from rank " + std::to_string(peer),
       [&] { return link_.test(handle).has_value(); });
  if (header.magic != ControlHeader{}.magic || header.kind != kind || header.sequence != sequence) {
    throw RunError("rank " + std::to_string(link_.rank()) + " expected " + text(kind, sequence) + " from rank " +
                   std::to_string(peer) + ", which sent " + text(header.kind, header.sequence) +
                   ": the ranks do not make the same control calls in the same order");
  }
  return header;
}

void Control::receive_bytes(int peer, const ControlHeader& header, void* data) {
  if (header.bytes == 0) return;
  const Link::Handle handle = link_.receive(peer, Channel::control, data, header.bytes);
  wait(peer, "the bytes of " + text(header.kind, header.sequence) + " from rank " + std::to_string(peer),
       [&] { return link_.test(handle).has_value(); });
}

std::string Control::receive_text(int peer, ControlKind kind, bool& request) {
  const ControlHeader header = receive_header(peer, kind);
  request = request || header.request != 0;
  std::string& bytes = pending_.emplace_back().bytes;
  bytes.resize(header.bytes);
  receive_bytes(peer, header, bytes.data());
  return std::move(bytes);
}

std::vector<std::string> Control::gather(const std::string& bytes) {
  std::vector<std::string> all;
  if (link_.rank() == 0) {
    all.push_back(bytes);
    for (const int peer : others()) all.push_back(receive_text(peer, ControlKind::gather, any_asked_));
  } else {
    send_text({0}, ControlKind::gather, bytes, asked_ && asked_());
  }
  pending_.clear();
  return all;
}

std::string Control::broadcast(const std::string& bytes) {
  std::string same = bytes;
  carried_ = false;
  if (link_.rank() == 0) {
    carried_ = std::exchange(any_asked_, false) || (asked_ && asked_());
    send_text(others(), ControlKind::broadcast, bytes, carried_);
  } else {
    same = receive_text(0, ControlKind::broadcast, carried_);
  }
  pending_.clear();
  return same;
}

void Control::barrier() {
  const ControlHeader header = header_of(ControlKind::barrier, 0);
  if (link_.rank() == 0) {
    for (const int peer : others()) receive_header(peer, ControlKind::barrier);
    send(others(), header, nullptr);
  } else {
    send({0}, header, nullptr);
    receive_header(0, ControlKind::barrier);
  }
  pending_.clear();
}

void Control::send_tied(int peer, const at::Tensor& tensor) {
  pending_.emplace_back().tensor = tensor;
  const ControlHeader header = tied_header(tensor);  // throws before the data pointer of an invalid tensor is used
  send({peer}, header, tensor.const_data_ptr());
  pending_.clear();
}

ControlHeader Control::receive_tied_header(int peer, const at::Tensor& tensor) {
  const ControlHeader expected = tied_header(tensor);
  const ControlHeader header = receive_header(peer, ControlKind::tied);
  if (header.dtype != expected.dtype || header.dimensions != expected.dimensions || header.sizes != expected.sizes) {
    throw RunError("tied tensor from rank " + std::to_string(peer) + " to rank " + std::to_string(link_.rank()) +
                   ": expected " + tied_text(expected) + ", rank " + std::to_string(peer) + " sent " +
                   tied_text(header) + "; both ends must hold the same weight");
  }
  return header;
}

void Control::receive_tied(int peer, at::Tensor& tensor) {
  pending_.emplace_back().tensor = tensor;
  const ControlHeader header = receive_tied_header(peer, tensor);
  receive_bytes(peer, header, tensor.mutable_data_ptr());
  pending_.clear();
}

std::string Control::announce_tied(int peer, const at::Tensor& tensor) {
  ControlHeader header = tied_header(tensor);
  const std::string what = tied_text(header);
  header.bytes = 0;  // no bytes follow on this channel
  send({peer}, header, nullptr);
  pending_.clear();
  return "rank " + std::to_string(peer) + " to take a tied tensor, " + what;
}

std::string Control::expect_tied(int peer, const at::Tensor& tensor) {
  receive_tied_header(peer, tensor);
  pending_.clear();
  return "a tied tensor from rank " + std::to_string(peer) + ", " + tied_text(tied_header(tensor));
}

}  // namespace plumbline
