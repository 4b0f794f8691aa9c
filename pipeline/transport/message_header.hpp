// SPDX-License-Identifier: BSD-3-Clause
// The header of a message.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "schedule/direction.hpp"

namespace plumbline {

/// Fixed size, sent as raw bytes with every payload. The receiver compares it with its schedule and batch plan.
struct MessageHeader {
  std::uint32_t magic = 0x504c4d42;  // "PLMB"
  Direction direction = Direction::forward;
  std::int32_t from_stage = 0;
  std::int32_t to_stage = 0;
  std::int64_t step = 0;
  std::int32_t microbatch = 0;
  std::int32_t dtype = 0;  ///< at::ScalarType
  std::int32_t dimensions = 0;
  std::int32_t reserved = 0;
  std::array<std::int64_t, 4> sizes{};  ///< [batch, sequence, hidden], unused entries 0
  /// Number of the message on its edge (from rank, to rank, direction), from 0; set and checked by the transport.
  std::uint64_t sequence = 0;

  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;
};
/// "F microbatch 3 of step 0, stage 1 -> 2, 2x64x128 float32"
std::string describe(const MessageHeader& header);

}  // namespace plumbline
