// SPDX-License-Identifier: BSD-3-Clause
// Readers of files, as the fuzzer and the replay of its findings call them: they read bytes as a file, or refuse them
// with an error of the project. See docs/contributing/nightly.md.
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
  /// The file for the bytes, in the reader's own folder, into which `beside` was copied before.
  std::string file;
  void (*read)(const std::filesystem::path& folder, const std::filesystem::path& file);
  std::string beside = {};  ///< a folder of the tree; empty: none
};

/// The name of the faulty reader, only in scripts/fuzz's program.
inline constexpr const char* planted_reader = "planted";

/// All registered readers, by name.
std::vector<Reader> readers();

/// Files of the tree whose paths match a shell pattern.
std::vector<std::filesystem::path> files_like(const std::string& pattern);
/// The valid files of seeds.txt for each reader.
std::map<std::string, std::vector<std::filesystem::path>> seeds();

/// A constant of this type registers a reader where it is defined.
struct Registration {
  explicit Registration(Reader reader);
};

/// Feeds bytes to one reader repeatedly, in a folder with the same lifetime.
class Feeder {
 public:
  explicit Feeder(Reader reader);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  /// Returns the message of the project's error that refused the bytes; empty if they were accepted. Passes on all
  /// other exceptions.
  std::optional<std::string> feed(std::string_view bytes) const;

 private:
  Reader reader_;
  std::filesystem::path folder_;
};

}  // namespace plumbline::fuzzing
