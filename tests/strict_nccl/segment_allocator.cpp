#include "tests/strict_nccl/segment_allocator.hpp"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else  // what the header itself makes of them without the sanitizer; not every compiler installs it
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace plumbline::strict {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t segment_bytes = std::size_t{1} << 16;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

struct Segment {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;  ///< from its beginning; what was freed is not handed out again
  std::size_t tensors = 0;
};

}  // namespace

/// Its lock stands for the one of LibTorch's allocator: held while the watcher is told.
struct SegmentArena::Shared {
  std::mutex lock;
  std::map<std::byte*, Segment> segments;
  Segment* current = nullptr;
  SegmentWatcher* watcher = nullptr;
  Owner* owner = nullptr;

  Segment& add(std::size_t bytes) {
    auto* begin = static_cast<std::byte*>(std::aligned_alloc(segment_bytes, bytes));
    if (begin == nullptr) throw std::bad_alloc();
    ASAN_POISON_MEMORY_REGION(begin, bytes);
    if (watcher != nullptr) watcher->segment_appeared(begin, bytes);
    return segments[begin] = {begin, bytes};
  }
  void remove(Segment& segment) {
    if (watcher != nullptr) watcher->segment_vanishes(segment.begin);
    if (owner != nullptr) owner->freed(segment.begin, segment.bytes);
    if (current == &segment) current = nullptr;
    std::byte* begin = segment.begin;
    ASAN_UNPOISON_MEMORY_REGION(begin, segment.bytes);
    segments.erase(begin);
    std::free(begin);
  }
};

/// A tensor's memory is preceded by a header that says whose it is.
class SegmentAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = take(SegmentArena::of_this_thread().shared_, bytes);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  struct Header {
    SegmentArena::Shared* arena;
    Segment* segment;
    std::size_t bytes;  ///< with the header
  };
  static_assert(sizeof(Header) <= alignment);

  static void* take(SegmentArena::Shared& arena, std::size_t bytes) {
    const std::lock_guard guard(arena.lock);
    const std::size_t size = alignment + bytes;  // what rounding adds stays poisoned
    const std::size_t room = rounded(size + alignment, alignment);
    Segment* segment = arena.current;
    if (segment == nullptr || segment->bytes - segment->used < room) {
      segment = &arena.add(rounded(room, segment_bytes));
      // one larger than usual is its tensor's own
      if (segment->bytes == segment_bytes) arena.current = segment;
    }
    std::byte* begin = segment->begin + segment->used;
    segment->used += room;
    segment->tensors += 1;
    ASAN_UNPOISON_MEMORY_REGION(begin, size);
    new (begin) Header{&arena, segment, size};
    return begin + alignment;
  }

  static void release(void* data) {
    if (data == nullptr) return;
    auto* begin = static_cast<std::byte*>(data) - alignment;
    const Header header = *std::launder(reinterpret_cast<Header*>(begin));
    const std::lock_guard guard(header.arena->lock);
    std::fill_n(begin, header.bytes, std::byte{0xff});  // NaN to whoever still reads it
    ASAN_POISON_MEMORY_REGION(begin, header.bytes);
    if (--header.segment->tensors == 0) header.arena->remove(*header.segment);
  }
};

namespace {

std::atomic<bool>& installed_flag() {
  static std::atomic<bool> flag = false;
  return flag;
}

}  // namespace

bool has_segment_allocator() {
  return installed_flag();
}

void install_segment_allocator() {
  static SegmentAllocator& installed = []() -> SegmentAllocator& {
    auto& made = *new SegmentAllocator;  // tensors may outlive everything
    c10::SetCPUAllocator(&made);
    if (c10::GetCPUAllocator() != &made) throw std::logic_error("another allocator of higher priority is in place");
    installed_flag() = true;
    return made;
  }();
  static_cast<void>(installed);
}

SegmentArena& SegmentArena::of_this_thread() {
  // tensors outlive their thread
  static std::mutex& lock = *new std::mutex;
  static std::deque<Shared>& shared = *new std::deque<Shared>;
  static std::deque<SegmentArena>& arenas = *new std::deque<SegmentArena>;
  thread_local SegmentArena* own = [] {
    const std::lock_guard guard(lock);
    return &arenas.emplace_back(SegmentArena(shared.emplace_back()));
  }();
  return *own;
}

void SegmentArena::watch(SegmentWatcher& watcher, Owner& owner) {
  const std::lock_guard guard(shared_.lock);
  if (shared_.watcher != nullptr) throw std::logic_error("two ranks on one thread cannot both watch its tensors");
  shared_.watcher = &watcher;
  shared_.owner = &owner;
  for (const auto& [begin, segment] : shared_.segments) watcher.segment_appeared(begin, segment.bytes);
}

void SegmentArena::unwatch() noexcept {
  const std::lock_guard guard(shared_.lock);
  shared_.watcher = nullptr;
  shared_.owner = nullptr;
}

}  // namespace plumbline::strict
