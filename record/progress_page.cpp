// SPDX-License-Identifier: BSD-3-Clause
#include "record/progress_page.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

static_assert(std::endian::native == std::endian::little, "the page is little-endian and is mapped as it is");
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "a lock would not reach into the other process");

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t magic_word = 0, sequence_word = 1, first_word = 2;  // indices of 8-byte words

/// The content of the page from `first_word` on.
struct Payload {
  std::int64_t step;
  std::int64_t action_index;
  std::int32_t peer;
  std::int32_t microbatch;
  std::uint64_t bytes;
  std::uint64_t monotonic_ns;
  std::int32_t pid;
  char action[64];
  char padding[4];
};
constexpr std::size_t host_offset = 128, host_bytes = 64;
static_assert(offsetof(Payload, action) == 60 - 2 * 8 && sizeof(Payload) % 8 == 0);
using Words = std::array<std::uint64_t, sizeof(Payload) / 8>;

std::uint64_t magic() {
  std::uint64_t word = 0;
  std::memcpy(&word, "PLMBPRG1", sizeof word);
  return word;
}

/// All accesses are atomic, because the reader runs concurrently. `page` is aligned, as all mappings are.
std::atomic_ref<std::uint64_t> word(void* page, std::size_t index) {
  return std::atomic_ref<std::uint64_t>(static_cast<std::uint64_t*>(page)[index]);
}

/// Written before the magic and never changed.
std::string host_in(const void* page) {
  const char* host = static_cast<const char*>(page) + host_offset;
  return std::string(host, ::strnlen(host, host_bytes));
}

std::uint64_t monotonic_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

/// Seqlock, reader's side (H.-J. Boehm, "Can seqlocks get along with programming language memory models?", 2012).
std::optional<ProgressSnapshot> read_page(void* page) {
  // An update takes nanoseconds: a writer that takes this long is dead or stopped. On an oversubscribed machine each
  // yield may take milliseconds.
  constexpr int attempts = 1000, attempts_at_least = 20;
  const std::uint64_t give_up = monotonic_ns() + 200'000'000;
  if (word(page, magic_word).load(std::memory_order_acquire) != magic()) return std::nullopt;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt >= attempts_at_least && monotonic_ns() > give_up) return std::nullopt;
    const std::uint64_t before = word(page, sequence_word).load(std::memory_order_acquire);
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = word(page, first_word + i).load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint64_t after = word(page, sequence_word).load(std::memory_order_relaxed);
    if (before != after || before % 2 != 0) {
      std::this_thread::yield();
      continue;
    }
    const auto payload = std::bit_cast<Payload>(words);
    return ProgressSnapshot{before / 2,
                            payload.step,
                            payload.action_index,
                            payload.peer,
                            payload.microbatch,
                            payload.bytes,
                            payload.monotonic_ns,
                            payload.pid,
                            printable({payload.action, ::strnlen(payload.action, sizeof payload.action)}),
                            printable(host_in(page))};
  }
  return std::nullopt;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()).substr(0, host_bytes - 1) : "";
}

bool ProgressSnapshot::of_another_host() const {
  return !host.empty() && host != host_name();
}

ProgressPage::ProgressPage(const std::filesystem::path& file) : page_(nullptr), pid_(::getpid()) {
  const auto fail = [&](int error) {
    throw SystemError(fmt::format("{}: the heartbeat cannot be created: {}; {}", file.string(), std::strerror(error),
                                  advice_on_writing(error)));
  };
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail(errno);
  // Not ftruncate: with a full disk the first write into a hole would kill the process.
  const int allocated = ::posix_fallocate(fd, 0, page_bytes);
  void* mapped = allocated == 0 ? ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  const int error = allocated == 0 ? errno : allocated;
  ::close(fd);
  if (mapped == MAP_FAILED) fail(error);
  page_ = mapped;
  host_name().copy(static_cast<char*>(page_) + host_offset, host_bytes - 1);
  update({});
  word(page_, magic_word).store(magic(), std::memory_order_release);
}

ProgressPage::~ProgressPage() {
  if (page_) ::munmap(page_, page_bytes);
}

ProgressPage::ProgressPage(ProgressPage&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), pid_(other.pid_) {}

void ProgressPage::update(const ProgressNow& now) noexcept {
  Payload payload{now.step, now.action_index, now.peer, now.microbatch, now.bytes, monotonic_ns(), pid_, {}, {}};
  now.action.copy(payload.action, sizeof payload.action - 1);
  const auto words = std::bit_cast<Words>(payload);

  const std::uint64_t sequence = word(page_, sequence_word).load(std::memory_order_relaxed);
  word(page_, sequence_word).store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) word(page_, first_word + i).store(words[i], std::memory_order_relaxed);
  word(page_, sequence_word).store(sequence + 2, std::memory_order_release);
}

std::optional<ProgressSnapshot> read_progress(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe without a writer would block.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat status {};
  const bool whole = ::fstat(fd, &status) == 0 && status.st_size >= static_cast<off_t>(page_bytes);
  void* mapped = whole ? ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  ::close(fd);
  if (mapped == MAP_FAILED) return std::nullopt;
  const auto snapshot = read_page(mapped);
  ::munmap(mapped, page_bytes);
  return snapshot;
}

}  // namespace plumbline
