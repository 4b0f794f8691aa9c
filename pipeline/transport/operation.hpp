// SPDX-License-Identifier: BSD-3-Clause
// A send or a receive.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/transport/message_header.hpp"
#include "schedule/action.hpp"

namespace plumbline {

/// `payload` is the tensor to send (contiguous; owned by the operation until it has completed), undefined for a
/// receive, whose buffer is allocated when posted. `header.dimensions` 0 in a receive: the plan does not know the
/// shape; the buffer is allocated when the header arrives.
struct Operation {
  Action action;  ///< for messages: RECV_F of stage 2, microbatch 3
  int peer = 0;
  MessageHeader header;
  at::Tensor payload;
};

}  // namespace plumbline
