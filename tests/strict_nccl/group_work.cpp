// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/group_work.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace plumbline::strict {
namespace {

/// The other half must have the same place in its queue: first in, first out.
std::shared_ptr<Transfer> counterpart(const Transfer& transfer) {
  const Clique::Way& way = transfer.clique->ways[{transfer.from, transfer.to}];
  const auto& own = transfer.send ? way.sends : way.receives;
  const auto& others = transfer.send ? way.receives : way.sends;
  const auto place = std::ranges::find_if(own, [&](const auto& each) { return each.get() == &transfer; }) - own.begin();
  return static_cast<std::size_t>(place) < others.size() ? others[static_cast<std::size_t>(place)] : nullptr;
}

}  // namespace

void poison(const Transfer& receive) {
  std::memset(receive.data, 0xff, receive.bytes());
}

std::size_t hash_of(const Transfer& transfer) {
  return std::hash<std::string_view>{}({static_cast<const char*>(transfer.data), transfer.bytes()});
}

void GroupWork::begin(Stream& stream, DeviceModel& model) {
  begun_ = true;
  for (const auto& transfer : transfers_) {
    transfer->active = true;
    transfer->access =
        model.begin_access(stream, {transfer->data, transfer->bytes()}, !transfer->send, transfer->text());
    if (!transfer->send) poison(*transfer);
    if (transfer->send && !transfer->content_known) {
      transfer->content = hash_of(*transfer);
      transfer->content_known = true;
    }
  }
}

void GroupWork::move(Transfer& receive, DeviceModel& model) {
  Clique::Way& way = receive.clique->ways[{receive.from, receive.to}];
  if (way.receives.front().get() != &receive || way.sends.empty() || !way.sends.front()->active) return;
  Transfer& send = *way.sends.front();
  if (!receive.matched) {
    if (send.count != receive.count || send.type != receive.type) {
      for (Member& member : receive.clique->members) {
        if (!member.failure.empty()) continue;
        member.failure = send.text() + " meets " + receive.text() + ": both ends must give the same count and type";
        model.note(member.failure);
      }
      return;
    }
    receive.matched = true;
    receive.due = model.now() + settings_.delay(receive.from, receive.to);
  }
  if (!model.over(receive.due)) return;
  if (hash_of(send) != send.content) model.note("the memory of " + send.text() + " was changed before the send ended");
  std::memcpy(receive.data, send.data, receive.bytes());
  if (settings_.corrupts && receive.bytes() > 0) std::memset(receive.data, 0x55, 1);
  send.ended = true;
  receive.ended = true;
  way.sends.pop_front();
  way.receives.pop_front();
}

bool GroupWork::run(Stream& stream, DeviceModel& model) {
  if (!begun_) begin(stream, model);
  for (const auto& transfer : transfers_) {
    // the receiver's half copies the bytes, whichever rank's stream is advanced
    if (!transfer->ended && !transfer->send) move(*transfer, model);
  }
  if (!std::ranges::all_of(transfers_, &Transfer::ended)) return false;
  const std::uint64_t tick = stream.clock.tick(stream.id);
  for (const auto& transfer : transfers_) transfer->access->tick = tick;
  return true;
}

std::set<int> GroupWork::waits_for() const {
  std::set<int> streams;
  for (const auto& transfer : transfers_) {
    if (transfer->ended) continue;
    const auto other = counterpart(*transfer);
    if (other && !other->active) streams.insert(other->stream);
  }
  return streams;
}

std::string GroupWork::text() const {
  std::string text;
  for (const auto& transfer : transfers_) {
    if (!transfer->ended) text += (text.empty() ? "" : " with ") + transfer->text();
  }
  return text;
}

}  // namespace plumbline::strict
