// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/wait_notes.hpp"

#include <algorithm>

#include "record/wait_chain.hpp"

namespace plumbline {

WaitNotes::WaitNotes(Link& link) : link_(link) {
  for (int rank = 0; rank < link.world_size(); ++rank) {
    if (rank != link.rank()) post_receive(others_.emplace_back(Other{rank, {}, {}, 0}));
  }
}

void WaitNotes::post_receive(Other& other) {
  other.handle = link_.receive(other.rank, Channel::waits, &other.incoming, sizeof other.incoming);
}

void WaitNotes::send(const WaitNote& note) {
  SentNote& sent = sent_.emplace_back(SentNote{note, {}});
  for (const Other& other : others_)
    sent.handles.push_back(link_.send(other.rank, Channel::waits, &sent.note, sizeof sent.note));
}

void WaitNotes::announce(int peer, const std::string& what) {
  WaitNote note{.peer = peer, .last = 0, .what = {}};
  what.copy(note.what.data(), note.what.size() - 1);
  send(note);
}

void WaitNotes::leave() {
  send(WaitNote{.peer = -1, .last = 1, .what = {}});
}

void WaitNotes::poll() {
  for (Other& other : others_) {
    while (other.latest.last == 0 && link_.test(other.handle)) {
      other.latest = other.incoming;
      if (other.latest.last == 0) post_receive(other);
    }
  }
  for (SentNote& sent : sent_)
    std::erase_if(sent.handles, [&](Link::Handle handle) { return link_.test(handle).has_value(); });
  std::erase_if(sent_, [](const SentNote& sent) { return sent.handles.empty(); });
}

bool WaitNotes::all_left() {
  poll();
  return sent_.empty() && std::ranges::all_of(others_, [](const Other& other) { return other.latest.last != 0; });
}

std::string WaitNotes::describe_chain(int peer, std::vector<std::int64_t>& chain) const {
  const auto latest = [&](std::int64_t rank) -> const WaitNote* {
    const auto other = std::ranges::find(others_, rank, &Other::rank);
    return other == others_.end() ? nullptr : &other->latest;
  };
  const auto peer_of = [&](std::int64_t rank) -> std::int64_t {
    return rank == link_.rank() ? peer : latest(rank) ? latest(rank)->peer : -1;
  };
  chain = wait_chain(link_.rank(), peer_of);
  const std::int64_t again = peer_of(chain.back());
  chain.erase(chain.begin());
  std::string text;
  for (const std::int64_t rank : chain) {
    if (peer_of(rank) >= 0) text += "; rank " + std::to_string(rank) + " waits for " + latest(rank)->what.data();
  }
  if (again < 0) return text + "; rank " + std::to_string(chain.back()) + " has not said that it waits";
  chain.push_back(again);
  return text + ": they wait for each other";
}

}  // namespace plumbline
