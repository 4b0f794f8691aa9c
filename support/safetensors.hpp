// SPDX-License-Identifier: BSD-3-Clause
// The safetensors container as bytes, without torch. https://github.com/huggingface/safetensors (format section).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/elements.hpp"

namespace plumbline {

/// A tensor in a file. `dtype` by our names: float32, float64, bfloat16, float16, int64.
struct SafetensorsEntry {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< valid while the SafetensorsFile lives; not aligned
};

inline std::vector<double> numbers_of(const SafetensorsEntry& entry) {
  return numbers_of(entry.dtype, entry.bytes);
}

/// A memory-mapped file. Throws InputError naming file and tensor: truncated, overlapping, wrong size, unknown dtype.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::map<std::string, SafetensorsEntry>& entries() const;
  /// Throws InputError naming file and tensor if absent.
  const SafetensorsEntry& at(const std::string& name) const;
  const std::filesystem::path& path() const;

 private:
  struct Mapping;
  std::shared_ptr<Mapping> mapping_;
};

/// Writes tensors in the given order to a temporary name, then renames.
struct NamedBytes {
  std::string name;
  SafetensorsEntry entry;
};
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedBytes>& tensors);

/// The same for tensors whose bytes are provided on demand: `bytes_of(i)` returns those of tensor i, is called in
/// order, and its result is used only until the next call. The entries' own `bytes` are ignored.
using BytesOfTensor = std::function<std::span<const std::byte>(std::size_t)>;
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedBytes>& tensors,
                       const BytesOfTensor& bytes_of);

}  // namespace plumbline
