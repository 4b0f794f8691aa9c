// SPDX-License-Identifier: BSD-3-Clause
// Whom ranks of several hosts wait for, as they tell each other: what another host's progress page shows may be old.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "pipeline/transport/link.hpp"

namespace plumbline {

/// One message: whom its sender waits for.
struct WaitNote {
  std::int32_t peer = -1;      ///< -1: for none any longer
  std::int32_t last = 0;       ///< 1: no more will come
  std::array<char, 120> what;  ///< completes "rank 2 waits for ..."
};

class WaitNotes {
 public:
  explicit WaitNotes(Link& link);
  /// Says it to all other ranks, which need not listen now.
  void tell(int peer, const std::string& what);
  /// Takes what has come from the others.
  void look();
  /// ", rank 1 waits for RECV_F ... from rank 0; rank 0 has not said that it waits": behind this rank, which waits for
  /// `peer`. The ranks met go to `chain`, and the first met twice again.
  std::string behind(int peer, std::vector<std::int64_t>& chain) const;

  /// Before the clean end: tells all others that this was the last.
  void leave();
  /// Whether all others have left and all that this rank said has been taken.
  bool all_left();

 private:
  struct Told {
    WaitNote note;
    std::vector<Link::Ticket> tickets;
  };
  struct Other {
    int rank;
    WaitNote coming, heard;
    Link::Ticket ticket;
  };
  void send(const WaitNote& note);
  void listen(Other& other);

  Link& link_;
  std::list<Other> others_;  ///< messages land in them
  std::list<Told> told_;
};

}  // namespace plumbline
