// SPDX-License-Identifier: BSD-3-Clause
// Writes a program's output to a file of bounded size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

namespace plumbline {

/// The file receives the first bytes as they arrive and, at the end, the number of omitted bytes and the last ones. The
/// program never waits for the disk: if writing fails, its output is discarded.
class BoundedOutput {
 public:
  static constexpr std::int64_t most_at_first = 8 << 20, most_at_last = 1 << 20;

  /// Creates the file. Throws SystemError if it cannot be written or no pipe can be created.
  explicit BoundedOutput(const std::filesystem::path& file, std::int64_t first = most_at_first,
                         std::int64_t last = most_at_last);
  ~BoundedOutput();
  BoundedOutput(const BoundedOutput&) = delete;
  BoundedOutput& operator=(const BoundedOutput&) = delete;

  /// The write end, for the program.
  int inlet() const { return inlet_; }
  /// Closes our copy of the write end once the program has its own.
  void started();
  /// Flushes everything written so far to disk and discards later output. Does not wait for processes that hold the
  /// write end.
  void finish();

 private:
  void read_to_the_end();
  void keep(const char* bytes, std::int64_t count);
  void drop_all_but_last();
  void write_last();

  std::int64_t first_left_, most_last_;
  std::int64_t left_out_ = 0;
  std::string last_;
  int file_ = -1, inlet_ = -1, outlet_ = -1, stop_ = -1;
  std::thread reader_;
};

}  // namespace plumbline
