// SPDX-License-Identifier: BSD-3-Clause
// Finds the cause of a failed run: from each rank's last action to the rank that delayed the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline {

/// A rank's state as last observed by the launcher.
struct RankSight {
  std::int64_t rank = 0;
  bool seen = false;            ///< its heartbeat existed
  bool found = false;           ///< its process was found
  std::string host = {};        ///< its host, if it is another one; its heartbeat may be outdated
  bool elsewhere = false;       ///< neither process nor heartbeat is visible here, and others have begun the first step
  bool gone = false;            ///< it had ended
  std::int64_t gone_order = 0;  ///< order of disappearance from 1; ranks found gone in the same poll share a number
  bool stopped = false;         ///< stopped by SIGSTOP or a tracer: state T or t
  bool traced = false;          ///< stopped by a tracer
  bool still = false;         ///< no voluntary switch of its main thread for a second; a waiting rank has one per poll
  std::optional<int> signal;  ///< signal that ended it, if known
  bool failed_first = false;  ///< according to the launcher
  std::optional<ExitFile> exit;
  std::string where;    ///< location of an error, from its exit.json: file, line and message
  std::string replica;  ///< "replica 1, rank 0" of several pipelines; empty for one
  std::string action;   ///< current or last action; empty before the first
  std::int64_t step = -1;
  std::int64_t peer = -1;  ///< rank that it waits for; -1 for none
};

struct Diagnosis {
  std::optional<std::int64_t> culprit;
  std::string words;
};

/// The rank that others waited for, or a cycle of ranks waiting for each other. `limit_text` ("60 s") is set if the
/// launcher's time limit expired. In order of reliability: a rank whose signal is known; the rank that failed first
/// according to the launcher, or disappeared first, without an exit file; a rank that wrote an error; a stopped rank;
/// the only waiting rank that hangs in its wait; the end of the chain of waiting ranks.
Diagnosis diagnose(const std::vector<RankSight>& ranks, const std::optional<std::string>& limit_text);

/// If all ranks completed (exit.json has status ok): the process that did not exit, usually in MPI_Finalize.
/// `timed_out`: some still lived when the launcher's time limit expired. Empty words if nothing is known.
Diagnosis diagnose_after_the_run(const std::vector<RankSight>& ranks, bool timed_out);

/// Rank and signal from the output of Open MPI's mpirun ("process rank 2 with PID ... exited on signal 9", the first
/// that ended with a non-zero code, or the one that MPI ended), or of torchrun (the first that failed); nullopt if they
/// name none.
struct NamedDeath {
  std::int64_t rank = 0;
  int signal = 0;  ///< 0: it ended with an exit code
};
std::optional<NamedDeath> death_in_launcher_output(const std::string& output);

}  // namespace plumbline
