// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/wait_notes.hpp"

#include <algorithm>

#include "record/wait_chain.hpp"

namespace plumbline {

WaitNotes::WaitNotes(Link& link) : link_(link) {
  for (int rank = 0; rank < link.world_size(); ++rank) {
    if (rank != link.rank()) listen(others_.emplace_back(Other{rank, {}, {}, 0}));
  }
}

void WaitNotes::listen(Other& other) {
  other.ticket = link_.receive(other.rank, Channel::waits, &other.coming, sizeof other.coming);
}

void WaitNotes::send(const WaitNote& note) {
  Told& told = told_.emplace_back(Told{note, {}});
  for (const Other& other : others_)
    told.tickets.push_back(link_.send(other.rank, Channel::waits, &told.note, sizeof told.note));
}

void WaitNotes::tell(int peer, const std::string& what) {
  WaitNote note{.peer = peer, .last = 0, .what = {}};
  what.copy(note.what.data(), note.what.size() - 1);
  send(note);
}

void WaitNotes::leave() {
  send(WaitNote{.peer = -1, .last = 1, .what = {}});
}

void WaitNotes::look() {
  for (Other& other : others_) {
    while (other.heard.last == 0 && link_.test(other.ticket)) {
      other.heard = other.coming;
      if (other.heard.last == 0) listen(other);
    }
  }
  for (Told& told : told_)
    std::erase_if(told.tickets, [&](Link::Ticket ticket) { return link_.test(ticket).has_value(); });
  std::erase_if(told_, [](const Told& told) { return told.tickets.empty(); });
}

bool WaitNotes::all_left() {
  look();
  return told_.empty() && std::ranges::all_of(others_, [](const Other& other) { return other.heard.last != 0; });
}

std::string WaitNotes::behind(int peer, std::vector<std::int64_t>& chain) const {
  const auto heard = [&](std::int64_t rank) -> const WaitNote* {
    const auto other = std::ranges::find(others_, rank, &Other::rank);
    return other == others_.end() ? nullptr : &other->heard;
  };
  const auto peer_of = [&](std::int64_t rank) -> std::int64_t {
    return rank == link_.rank() ? peer : heard(rank) ? heard(rank)->peer : -1;
  };
  chain = wait_chain(link_.rank(), peer_of);
  const std::int64_t again = peer_of(chain.back());
  chain.erase(chain.begin());
  std::string text;
  for (const std::int64_t rank : chain) {
    if (peer_of(rank) >= 0) text += "; rank " + std::to_string(rank) + " waits for " + heard(rank)->what.data();
  }
  if (again < 0) return text + "; rank " + std::to_string(chain.back()) + " has not said that it waits";
  chain.push_back(again);
  return text + ": they wait for each other";
}

}  // namespace plumbline
