// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/wait_notes.hpp"

#include <algorithm>
#include <utility>

#include "record/wait_chain.hpp"

namespace plumbline {

WaitNotes::WaitNotes(Endpoint& endpoint) : endpoint_(endpoint) {
  for (int rank = 0; rank < endpoint.world_size(); ++rank) {
    if (rank != endpoint.rank()) start_receive(others_.emplace_back(Other{rank, {}, {}, {}, {}}));
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
      other.received = Clock::now();
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

std::string WaitNotes::describe_chain(int peer, std::chrono::milliseconds fresh,
                                      std::vector<std::int64_t>& chain) const {
  const auto now = Clock::now();
  const auto other = [&](std::int64_t rank) -> const Other& { return *std::ranges::find(others_, rank, &Other::rank); };
  const auto peer_of = [&](std::int64_t rank) -> std::int64_t {
    if (rank == endpoint_.rank()) return peer;
    return now - other(rank).received <= fresh ? other(rank).latest.peer : -1;
  };
  chain = wait_chain(endpoint_.rank(), peer_of);
  const std::int64_t again = peer_of(chain.back());
  chain.erase(chain.begin());
  std::string text;
  for (const std::int64_t rank : chain) {
    if (peer_of(rank) >= 0) text += "; rank " + std::to_string(rank) + " waits for " + other(rank).latest.what.data();
  }
  if (again < 0) {
    text += "; rank " + std::to_string(chain.back());
    const Other& last = other(chain.back());
    if (last.latest.peer < 0) return text + " has not reported that it waits";
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - last.received);
    return text + " has reported nothing for " + std::to_string(age.count()) + " s; before, it waited for " +
           last.latest.what.data();
  }
  chain.push_back(again);
  return text + ": they wait for each other";
}

}  // namespace plumbline
