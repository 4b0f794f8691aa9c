// SPDX-License-Identifier: BSD-3-Clause
// What a rank is doing now, in a memory-mapped file that outlives it: `<record>/rank-<r>/progress`. Written by the rank
// at each action and wait, read by whoever looks after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

/// Where the rank stands; -1 where there is no such thing.
struct ProgressNow {
  std::int64_t step = -1;
  std::int64_t action_index = -1;
  std::int32_t peer = -1;  ///< the rank waited for
  std::int32_t microbatch = -1;
  std::uint64_t bytes = 0;       ///< of the transfer waited for
  std::string_view action = {};  ///< "1B3"; cut off after 63 bytes
};

/// What a reader saw, all of one moment.
struct ProgressSnapshot {
  std::uint64_t updates = 0;  ///< grows with each update: unchanged between two looks = the rank did nothing
  std::int64_t step = -1;
  std::int64_t action_index = -1;
  std::int32_t peer = -1;
  std::int32_t microbatch = -1;
  std::uint64_t bytes = 0;
  std::uint64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC of the update, the same clock in every process of the machine
  std::int32_t pid = 0;
  std::string action;
  std::string host;  ///< on which `pid` is; empty where the writer does not say

  /// Then its process id and its clock mean nothing here, and it may be old: on a shared file system (NFS) others see a
  /// memory-mapped page once it is written back.
  bool of_another_host() const;
};

/// This machine's, as pages have it.
std::string host_name();

/// The writer. Only one thread may update a page.
class ProgressPage {
 public:
  /// Makes the file, 4096 bytes, with a first update of a rank that has not begun. Throws SystemError.
  explicit ProgressPage(const std::filesystem::path& file);
  ~ProgressPage();
  ProgressPage(ProgressPage&& other) noexcept;
  ProgressPage& operator=(ProgressPage&&) = delete;
  /// Some tens of nanoseconds; no system call but the clock's, no allocation.
  void update(const ProgressNow& now) noexcept;

 private:
  void* page_;
  std::int32_t pid_;
};

/// The last update, or nothing: no such file, not (yet) a progress page, or a rank that died or stopped within an
/// update.
std::optional<ProgressSnapshot> read_progress(const std::filesystem::path& file);
/// The same of a rank of a record.
std::optional<ProgressSnapshot> read_progress(const std::filesystem::path& record, std::int64_t rank);

}  // namespace plumbline
