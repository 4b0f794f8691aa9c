#include "pipeline/transport/nccl/bounded_call.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace plumbline {

bool call_bounded(std::chrono::milliseconds limit, std::function<void()> body) noexcept {
  struct Shared {
    std::mutex lock;
    std::condition_variable returned;
    bool done = false;
  };
  try {
    const auto shared = std::make_shared<Shared>();
    std::thread([shared, body = std::move(body)] {
      body();
      const std::lock_guard guard(shared->lock);
      shared->done = true;
      shared->returned.notify_all();
    }).detach();
    std::unique_lock guard(shared->lock);
    return shared->returned.wait_for(guard, limit, [&] { return shared->done; });
  } catch (const std::system_error&) {  // no thread to be had: the end of the process must do
    return false;
  }
}

}  // namespace plumbline
