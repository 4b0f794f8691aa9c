// SPDX-License-Identifier: BSD-3-Clause
// What a program prints, kept in a file that does not grow without end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

namespace plumbline {

/// The file has the first bytes as they come, and behind them, once all has been said, how many were left out and the
/// last. The program never waits for the disk: where nothing more can be written, its words are lost and it goes on.
class BoundedOutput {
 public:
  static constexpr std::int64_t most_at_first = 8 << 20, most_at_last = 1 << 20;

  /// Makes the file anew. Throws SystemError: it cannot be written, or no pipe can be made.
  explicit BoundedOutput(const std::filesystem::path& file, std::int64_t first = most_at_first,
                         std::int64_t last = most_at_last);
  ~BoundedOutput();
  BoundedOutput(const BoundedOutput&) = delete;
  BoundedOutput& operator=(const BoundedOutput&) = delete;

  /// For the program to write to.
  int inlet() const { return inlet_; }
  /// The program has its own copy of the inlet.
  void started();
  /// What was written until now is on disk afterwards; of what is written later nothing is kept. Who still holds the
  /// inlet is not waited for.
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
