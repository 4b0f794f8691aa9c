// SPDX-License-Identifier: BSD-3-Clause
// Readers of files, as the fuzzer and the replay of what it found call them: bytes are a file's, and are read, or
// refused by an error of the project. docs/contributing/nightly.md
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline::fuzzing {

struct Reader {
  std::string name;
  /// What the bytes are written to: within a folder of the reader's own, in which `beside` was copied before.
  std::string file;
  void (*read)(const std::filesystem::path& folder, const std::filesystem::path& file);
  std::string beside = {};  ///< a folder of the tree; empty: none
};

/// The name of the one that is wrong, in scripts/fuzz's program alone.
inline constexpr const char* planted_reader = "planted";

/// All that were registered, by name.
std::vector<Reader> readers();

/// Files of the tree whose paths match a pattern of the shell.
std::vector<std::filesystem::path> files_like(const std::string& pattern);
/// By reader the right files that seeds.txt lists.
std::map<std::string, std::vector<std::filesystem::path>> seeds();

/// A reader is registered where it is defined, by a constant of this type.
struct Registration {
  explicit Registration(Reader reader);
};

/// Feeds bytes to one reader, time after time, in a folder that lives as long.
class Feeder {
 public:
  explicit Feeder(Reader reader);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  /// Returns the words of the project's error that refused the bytes; nothing where they were taken. What else is
  /// thrown is passed on.
  std::optional<std::string> feed(std::string_view bytes) const;

 private:
  Reader reader_;
  std::filesystem::path folder_;
};

}  // namespace plumbline::fuzzing
