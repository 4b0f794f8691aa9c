// SPDX-License-Identifier: BSD-3-Clause
// Why a run did not end well: from what each rank was last seen doing to the rank that the others waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline {

/// One rank as the launcher last saw it.
struct RankSight {
  std::int64_t rank = 0;
  bool seen = false;            ///< its progress page was there
  bool found = false;           ///< its process was seen
  std::string host = {};        ///< that it is on, where that is another one; its page may be old
  bool elsewhere = false;       ///< its process and its page cannot be seen here, and others have begun the first step
  bool gone = false;            ///< it had ended
  std::int64_t gone_order = 0;  ///< 1 for the rank seen gone first; ranks found gone at the same glance share a number
  bool stopped = false;         ///< SIGSTOP, or by a tracer: state T or t
  bool traced = false;          ///< the latter
  bool still = false;           ///< its main thread has not napped for a second: one that waits does so between looks
  std::optional<int> signal;    ///< that ended it, when known
  bool failed_first = false;    ///< as the launcher tells
  std::optional<ExitFile> exit;
  std::string where;   ///< of an error, as its exit.json tells: file, line and message
  std::string action;  ///< current or last action; empty before the first
  std::int64_t step = -1;
  std::int64_t peer = -1;  ///< rank that it waits for; -1 when it waits for none
};

struct Diagnosis {
  std::optional<std::int64_t> culprit;
  std::string words;
};

/// The rank that others waited for, or a cycle of ranks waiting for each other. `limit_text` is set when the launcher's
/// own time limit passed
/// ("60 s"). In this order of trust: a rank whose signal is known; the rank that the launcher says failed first, or was
/// seen gone first, without an exit file; a rank that wrote an error; one that was stopped; the only one of those that
/// wait which hangs in its wait; the end of the wait-for chain.
Diagnosis diagnose(const std::vector<RankSight>& ranks, const std::optional<std::string>& limit_text);

/// Of ranks whose runs have all ended well (exit.json): the process that did not end as it was to, in MPI_Finalize as a
/// rule. `timed_out`: some still lived when the launcher's time limit passed. Without words where nothing is known.
Diagnosis diagnose_after_the_run(const std::vector<RankSight>& ranks, bool timed_out);

/// Rank and signal that Open MPI's mpirun names in its last words ("process rank 2 with PID ... exited on signal 9", or
/// the first that ended with a code other than 0), or torchrun as the first that failed; nothing when they name none.
struct NamedDeath {
  std::int64_t rank = 0;
  int signal = 0;  ///< 0: it ended with a code of its own
};
std::optional<NamedDeath> death_in_launcher_output(const std::string& output);

/// "9 (SIGKILL)".
std::string signal_text(int signal);

}  // namespace plumbline
