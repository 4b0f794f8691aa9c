// SPDX-License-Identifier: BSD-3-Clause
// Tensors by name, from one safetensors file or several.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/safetensors.hpp"

namespace plumbline {

/// "model-00002-of-00004.safetensors": the second of four.
std::string numbered_file(const std::string& prefix, std::int64_t number, std::int64_t count);

/// Files are opened (mapped, header parsed) on the first access to one of their tensors.
class TensorFiles {
 public:
  /// A model in Hugging Face's layout: a .safetensors file; a folder with model.safetensors.index.json and the files it
  /// names, or with model.safetensors; a folder of the hub's cache with refs/main and snapshots/. Throws InputError for
  /// anything else, naming its kind (a pickle, a pointer of git LFS).
  static TensorFiles of_model(const std::filesystem::path& path);
  /// The files `<prefix>-00001-of-0000N.safetensors` and so on in a folder. Throws InputError if one is missing.
  static TensorFiles numbered(const std::filesystem::path& folder, const std::string& prefix);

  /// Names of all tensors, ascending.
  std::vector<std::string> names() const;
  bool holds(const std::string& name) const { return files_.contains(name); }
  /// The bytes are valid while this object lives. Throws InputError naming file and tensor if it is absent, or listed
  /// in the index and missing in the file.
  const SafetensorsEntry& at(const std::string& name) const;
  /// "FILE: NAME", for messages.
  std::string where(const std::string& name) const;
  /// The file or folder given to the constructor.
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TensorFiles(std::filesystem::path path) : path_(std::move(path)) {}
  void add_file(const std::filesystem::path& file);
  void add_index(const std::filesystem::path& index);
  const SafetensorsFile& opened(const std::filesystem::path& file) const;

  std::filesystem::path path_;
  std::map<std::string, std::filesystem::path> files_;  ///< by tensor
  mutable std::map<std::filesystem::path, std::unique_ptr<SafetensorsFile>> opened_;
};

}  // namespace plumbline
