// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/nccl/bounded_call.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace plumbline {

bool call_bounded(std::chrono::milliseconds limit, std::vector<std::function<void()>> calls) noexcept {
  struct Shared {
    std::mutex lock;
    std::condition_variable returned;
    std::size_t done = 0;
  };
  try {
    const auto shared = std::make_shared<Shared>();
    const std::size_t all = calls.size();
    for (auto& call : calls) {
      std::thread([shared, call = std::move(call)] {
        call();
        const std::lock_guard guard(shared->lock);
        ++shared->done;
        shared->returned.notify_all();
      }).detach();
    }
    std::unique_lock guard(shared->lock);
    return shared->returned.wait_for(guard, limit, [&] { return shared->done == all; });
  } catch (const std::system_error&) {  // no thread available: leave it to the end of the process
    return false;
  }
}

}  // namespace plumbline
