// SPDX-License-Identifier: BSD-3-Clause
// A tied weight between ranks: the gradients of its two uses become one sum on both sides, and its copies stay equal.
#pragma once

#include <cstdint>

#include "pipeline/transport/transport.hpp"
#include "training/tied_weight.hpp"

namespace plumbline {

/// Called by the ranks of the embedding and of the head, each naming the other. The head's gradient goes to the
/// embedding's rank, is added there, and the sum comes back; on a rank that holds both nothing travels.
/// Returns the nanoseconds that the messages took.
std::int64_t exchange_tied_gradients(Transport& transport, const TiedWeight& tied, int peer);

/// Collective. Rank 0 is told; elsewhere true.
bool tied_copies_are_equal(Transport& transport, const TiedWeight& tied);

}  // namespace plumbline
