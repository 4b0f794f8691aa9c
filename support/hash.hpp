// SPDX-License-Identifier: BSD-3-Clause
// XXH3-128 (seed 0), as `xxh128sum` prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace plumbline {

/// Incremental hash.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  /// 32 lower-case hex digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_hex(std::string_view bytes);
/// Low 64 bits of the hash, used as seeds of named generators.
std::uint64_t hash64(std::string_view bytes);

}  // namespace plumbline
