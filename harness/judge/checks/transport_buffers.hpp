// SPDX-License-Identifier: BSD-3-Clause
// Bytes of the transport's buffers.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// The candidate's, in each step at most every message that its list lets be in flight at once. Counts buffer_cells.
std::unique_ptr<MemoryPart> transport_buffers_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
