// SPDX-License-Identifier: BSD-3-Clause
// A rank's heartbeat: its current action in a memory-mapped file that outlives the process,
// `<record>/rank-<r>/progress`. The rank updates it at each action and wait; launchers and waiting ranks read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

/// The rank's current position; -1 if not applicable.
struct ProgressNow {
  std::int64_t step = -1;
  std::int64_t action_index = -1;
  std::int32_t peer = -1;  ///< the rank that it waits for
  std::int32_t microbatch = -1;
  std::uint64_t bytes = 0;       ///< of the pending transfer
  std::string_view action = {};  ///< "1B3"; truncated to 63 bytes
};

/// A consistent snapshot.
struct ProgressSnapshot {
  std::uint64_t updates = 0;  ///< grows with each update: if two reads agree, the rank did nothing
  std::int64_t step = -1;
  std::int64_t action_index = -1;
  std::int32_t peer = -1;
  std::int32_t microbatch = -1;
  std::uint64_t bytes = 0;
  std::uint64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC of the update, comparable across processes of one machine
  std::int32_t pid = 0;
  std::string action;
  std::string host;  ///< host of `pid`; empty if unknown

  /// If true, its process id and clock have no meaning here, and it may be outdated: on a shared file system (NFS)
  /// other hosts see a memory-mapped page only after it is written back.
  bool of_another_host() const;
};

/// This machine's host name, truncated as in heartbeats.
std::string host_name();

/// The writer. Updates must come from one thread at a time.
class ProgressPage {
 public:
  /// Creates the file, 4096 bytes, with a first update of a rank that has not begun. Throws SystemError.
  explicit ProgressPage(const std::filesystem::path& file);
  ~ProgressPage();
  ProgressPage(ProgressPage&& other) noexcept;
  ProgressPage& operator=(ProgressPage&&) = delete;
  /// Takes some tens of nanoseconds: no allocation, no system call but the clock's.
  void update(const ProgressNow& now) noexcept;

 private:
  void* page_;
  std::int32_t pid_;
};

/// The last update; nullopt if there is no such file, it is no heartbeat (yet), or the rank died or stopped within an
/// update.
std::optional<ProgressSnapshot> read_progress(const std::filesystem::path& file);

}  // namespace plumbline
