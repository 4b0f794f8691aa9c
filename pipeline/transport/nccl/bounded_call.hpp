// A call that may never return, waited for only so long.
#pragma once

#include <chrono>
#include <functional>

namespace plumbline {

/// Runs `body` on a thread of its own; whether it returned within `limit`. Where it did not, the thread is left to
/// itself: everything that `body` uses must live until the process ends. `body` must not throw.
bool call_bounded(std::chrono::milliseconds limit, std::function<void()> body) noexcept;

}  // namespace plumbline
