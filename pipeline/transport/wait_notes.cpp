// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/wait_notes.hpp"

#include <algorithm>
#include <utility>

#include "record/wait_chain.hpp"

namespace plumbline {

WaitNotes::WaitNotes(Endpoint& endpoint) : endpoint_(endpoint) {
  for (int rank = 0; rank < endpoint.world_size(); ++rank) {
    if (rank != endpoint.rank()) start_receive(others_.emplace_back(Other{rank, {}, {}, {}}));
  }
}

void WaitNotes::start_receive(Other& other) {
  other.request.reset();
  other.request = endpoint_.receive(other.rank, Channel::waits, bytes_of(other.incoming), [] { return Bytes(); });
}

void WaitNotes::send(const WaitNote& note) {
  SentNote& sent = sent_.emplace_back(SentNote{note, {}});
  for (const Other& other : others_)
    sent.requests.push_back(endpoint_.send(other.rank, Channel::waits, bytes_of(std::as_const(sent.note)), {}));
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
    while (other.latest.last == 0 && other.request->test()) {
      other.latest = other.incoming;
      if (other.latest.last == 0) start_receive(other);
    }
  }
  for (SentNote& sent : sent_) std::erase_if(sent.requests, [](const auto& request) { return request->test(); });
  std::erase_if(sent_, [](const SentNote& sent) { return sent.requests.empty(); });
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
    return rank == endpoint_.rank() ? peer : latest(rank) ? latest(rank)->peer : -1;
  };
  chain = wait_chain(endpoint_.rank(), peer_of);
  const std::int64_t again = peer_of(chain.back());
  chain.erase(chain.begin());
  std::string text;
  for (const std::int64_t rank : chain) {
    if (peer_of(rank) >= 0) text += "; rank " + std::to_string(rank) + " waits for " + latest(rank)->what.data();
  }
  if (again < 0) return text + "; rank " + std::to_string(chain.back()) + " has not reported that it waits";
  chain.push_back(again);
  return text + ": they wait for each other";
}

}  // namespace plumbline
