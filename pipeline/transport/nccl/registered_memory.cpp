#include "pipeline/transport/nccl/registered_memory.hpp"

#include <thread>

namespace plumbline {
namespace {

/// A group that was handed over is on its stream in microseconds; NCCL's own start-up is long over.
constexpr std::chrono::seconds longest_start{10};

/// `data` is not before `begin`.
bool lies_within(const void* data, std::size_t bytes, const void* begin, std::size_t size) {
  const auto before = reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(begin);
  return before <= size && bytes <= size - before;
}

}  // namespace

RegisteredMemory::RegisteredMemory(NcclApi& nccl, AllocatorSegments& segments, c10::Device device)
    : nccl_(nccl), source_(segments) {
  source_.watch(device, *this);
}

RegisteredMemory::~RegisteredMemory() {
  source_.unwatch(*this);
}

void RegisteredMemory::segment_appeared(const void* begin, std::size_t bytes) noexcept {
  const std::lock_guard guard(lock_);
  // Not registered here: the thread may be within a group, and the communicators may be busy.
  segments_.try_emplace(begin, Segment{bytes, {}});
  ++appeared_;
}

void RegisteredMemory::segment_vanishes(const void* begin) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = segments_.find(begin);
  if (found == segments_.end()) return;
  for (const auto& [communicator, registration] : found->second.registrations) {
    wait_until_idle(communicator);
    nccl_.deregister(communicator, registration);
  }
  if (!found->second.registrations.empty()) ++vanished_;
  segments_.erase(found);
}

void RegisteredMemory::wait_until_idle(NcclCommunicator communicator) noexcept {
  // A group that has not started yet is started by a thread of NCCL's, which looks registrations up.
  const auto deadline = std::chrono::steady_clock::now() + longest_start;
  try {
    while (nccl_.state(communicator).progress == NcclProgress::busy && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  } catch (const RunError&) {  // it has failed; whoever looks at it next says so
  }
}

void RegisteredMemory::register_with(NcclCommunicator communicator) {
  const std::lock_guard guard(lock_);
  std::uint64_t& up_to = up_to_[communicator];
  if (up_to == appeared_) return;
  for (auto& [begin, segment] : segments_) {
    if (segment.registrations.contains(communicator)) continue;
    const auto registration = nccl_.register_memory(communicator, const_cast<void*>(begin), segment.bytes);
    if (!registration) throw RunError("NCCL takes no registration (NCCL_LOCAL_REGISTER=0, or no use for this memory)");
    segment.registrations.emplace(communicator, *registration);
  }
  up_to = appeared_;
}

std::unique_lock<std::mutex> RegisteredMemory::hold() {
  return std::unique_lock(lock_);
}

bool RegisteredMemory::covers(NcclCommunicator communicator, const void* data, std::size_t bytes) const {
  auto behind = segments_.upper_bound(data);
  if (behind == segments_.begin()) return false;
  const auto& [begin, segment] = *--behind;
  return segment.registrations.contains(communicator) && lies_within(data, bytes, begin, segment.bytes);
}

void RegisteredMemory::deregister_all(NcclCommunicator communicator) noexcept {
  const std::lock_guard guard(lock_);
  for (auto& [begin, segment] : segments_) {
    const auto node = segment.registrations.extract(communicator);
    if (!node.empty()) nccl_.deregister(communicator, node.mapped());
  }
  up_to_.erase(communicator);
}

void RegisteredMemory::forget(NcclCommunicator communicator) noexcept {
  const std::lock_guard guard(lock_);
  for (auto& [begin, segment] : segments_) segment.registrations.erase(communicator);
  up_to_.erase(communicator);
}

RegisteredMemory::Count RegisteredMemory::count() const {
  const std::lock_guard guard(lock_);
  Count count;
  count.vanished = vanished_;
  for (const auto& [begin, segment] : segments_) {
    if (segment.registrations.empty()) continue;
    ++count.segments;
    count.bytes += static_cast<std::int64_t>(segment.bytes);
  }
  return count;
}

}  // namespace plumbline
