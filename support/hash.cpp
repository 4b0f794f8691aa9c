// SPDX-License-Identifier: BSD-3-Clause
#include "support/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace plumbline {
namespace {

std::string hex_of(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

struct Hasher::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (!state_->xxh) throw std::bad_alloc();
  XXH3_128bits_reset(state_->xxh.get());
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(const void* data, std::size_t bytes) {
  if (bytes > 0) XXH3_128bits_update(state_->xxh.get(), data, bytes);
}

std::string Hasher::hex() const {
  return hex_of(XXH3_128bits_digest(state_->xxh.get()));
}

std::string hash_hex(std::string_view bytes) {
  return hex_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::uint64_t hash64(std::string_view bytes) {
  return XXH3_128bits(bytes.data(), bytes.size()).low64;
}

}  // namespace plumbline
