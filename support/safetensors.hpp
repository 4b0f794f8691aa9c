// SPDX-License-Identifier: BSD-3-Clause
// The safetensors container as bytes: no tensors, no torch. https://github.com/huggingface/safetensors (format
// section).
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

namespace plumbline {

/// One tensor's place in a file. `dtype` in our names: float32, float64, bfloat16, float16, int64.
struct SafetensorsEntry {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< valid while the SafetensorsFile lives; not aligned
};

/// A memory-mapped file. Throws InputError naming file and tensor: truncated, overlapping, wrong size, unknown dtype.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::map<std::string, SafetensorsEntry>& entries() const;
  /// Throws InputError naming file and tensor when absent.
  const SafetensorsEntry& at(const std::string& name) const;
  const std::filesystem::path& path() const;

 private:
  struct Mapping;
  std::shared_ptr<Mapping> mapping_;
};

/// Writes tensors in the order given, through a temporary name and a rename.
struct NamedBytes {
  std::string name;
  SafetensorsEntry entry;
};
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedBytes>& tensors);

/// The same for tensors whose bytes are somewhere else until they are written: `bytes_of(i)` gives those of tensor i,
/// asked for in order, and needed only until the next call. The entries have no bytes of their own.
using BytesOfTensor = std::function<std::span<const std::byte>(std::size_t)>;
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedBytes>& tensors,
                       const BytesOfTensor& bytes_of);

/// Bytes of one element of a dtype; 0 when unknown.
std::size_t dtype_size(const std::string& dtype);

}  // namespace plumbline
