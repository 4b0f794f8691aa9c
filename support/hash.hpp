// SPDX-License-Identifier: BSD-3-Clause
// XXH3-128 (seed 0), as `xxh128sum` prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace plumbline {

/// Incremental hash.
class Hasher {
 public:
  Hasher();
  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  /// 32 lower-case hex digits.
  std::string hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string hash_hex(std::string_view bytes);
/// Low 64 bits of the hash, used as seeds of named generators.
std::uint64_t hash64(std::string_view bytes);

}  // namespace plumbline
