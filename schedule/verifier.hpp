// Static checks of a schedule: nothing is run, every message says rank, position (from 0), action, and what to do.
#pragma once

#include <cstdint>

#include "schedule/schedule.hpp"

namespace plumbline {

/// The compute actions: each stage on its rank does each microbatch's F once, then B once, or I once and W once after
/// it; nothing out of range, nothing twice, no other action. Throws InputError at the first fault. Cross-rank order is
/// `lower`'s to find.
void verify_complete(const Schedule& compute_only);

/// A lowered list where each SEND and RECV ends before its rank's next action starts: every send has its receive in the
/// order of the channel, each F and B has its input before it, and no rank waits forever. Safe here is safe under any
/// looser model. Throws InputError.
void verify_blocking(const Schedule& lowered);

/// Most (stage, microbatch) pairs of one list between the start of their F and the end of their last backward action (B
/// or W).
std::int64_t peak_slots(const ActionList& list);

}  // namespace plumbline
