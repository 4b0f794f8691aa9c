// SPDX-License-Identifier: BSD-3-Clause
// Bytes of the transport's buffers.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// In each step the candidate has at most the buffers of all messages that its list allows in flight at once. Counts
/// buffer_cells.
std::unique_ptr<MemoryPart> transport_buffers_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
