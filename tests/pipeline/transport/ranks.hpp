// SPDX-License-Identifier: BSD-3-Clause
// Messages whose content identifies their origin, and two ways to run one body on several ranks.
#pragma once

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/transport/message.hpp"
#include "pipeline/transport/transport.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

inline MessageHeader header(int from, int to, int microbatch, at::IntArrayRef shape, Direction direction) {
  MessageHeader made;
  made.direction = direction;
  made.from_stage = from;
  made.to_stage = to;
  made.step = 2;
  made.microbatch = microbatch;
  made.dtype = static_cast<std::int32_t>(at::kFloat);
  made.dimensions = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), made.sizes.begin());
  return made;
}

/// No two messages of one test have an element in common: the first element identifies them, the rest counts up from
/// it.
inline at::Tensor content(int from, int microbatch, at::IntArrayRef shape, Direction direction = Direction::forward) {
  const std::int64_t elements = c10::multiply_integers(shape);
  const std::int64_t side = direction == Direction::forward ? 0 : 1;
  const std::int64_t start = (side * 8 + from) * 100 + microbatch;
  return at::arange(start, start + elements, at::kDouble).mul_(0.5).to(at::kFloat).view(shape);
}

/// A send or a receive that a test is going to start.
struct Message {
  bool sends = false;
  int peer = 0;
  MessageHeader header;
  at::Tensor payload;
};

inline Message send_to(Transport& transport, int peer, int microbatch, const at::Tensor& payload,
                       Direction direction = Direction::forward) {
  MessageHeader made = header(transport.rank(), peer, microbatch, payload.sizes(), direction);
  made.dtype = static_cast<std::int32_t>(payload.scalar_type());
  return {true, peer, made, payload};
}

inline Message receive_from(Transport& transport, int peer, int microbatch, at::IntArrayRef shape,
                            Direction direction = Direction::forward) {
  return {false, peer, header(peer, transport.rank(), microbatch, shape, direction), {}};
}

/// Starts the messages as one batch.
inline std::vector<Pending> post(Transport& transport, const std::vector<Message>& batch) {
  std::vector<Pending> started;
  for (const Message& each : batch) {
    started.push_back(each.sends ? transport.send(each.peer, each.header, each.payload)
                                 : transport.receive(each.peer, each.header));
  }
  transport.end_batch();
  return started;
}
inline Pending post_one(Transport& transport, const Message& message) {
  return std::move(post(transport, {message}).front());
}

/// What `body` throws, or null.
template <typename Expected, typename Body>
std::string thrown_by(const Body& body) {
  try {
    body();
  } catch (const Expected& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// Whether a test's ranks end in an orderly way, or leave messages in progress as failed ranks do.
enum class Ending { clean, broken };
using Body = std::function<void(Transport&)>;

/// One thread per transport. With a broken ending all transports live until every body has returned.
inline void run_on_threads(const std::vector<std::unique_ptr<Transport>>& transports, Ending ending, const Body& body) {
  std::vector<std::thread> threads;
  for (const auto& transport : transports) {
    threads.emplace_back([&] {
      try {
        body(*transport);
        if (ending == Ending::clean) transport->finish();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << transport->rank() << ": " << error.what();
        transport->abort(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace plumbline
