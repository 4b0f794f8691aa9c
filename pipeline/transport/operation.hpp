// SPDX-License-Identifier: BSD-3-Clause
// One end of a message: a send or a receive.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/transport/message_header.hpp"
#include "schedule/action.hpp"

namespace plumbline {

/// One send or receive. `payload` is what to send (contiguous; owned by the operation until it has ended), undefined
/// for a receive. A receive's buffer is allocated when it is posted. `header.dimensions` 0 in a receive: the plan does
/// not know the shape; its buffer is allocated once the header has come.
struct Operation {
  Action action;  ///< for messages: RECV_F of stage 2, microbatch 3
  int peer = 0;
  MessageHeader header;
  at::Tensor payload;
};

}  // namespace plumbline
