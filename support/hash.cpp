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

void Hasher::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Hasher::update(const void* data, std::size_t bytes) {
  if (bytes > 0) XXH3_128bits_update(state_.get(), data, bytes);
}

std::string Hasher::hex() const {
  return hex_of(XXH3_128bits_digest(state_.get()));
}

std::string hash_hex(std::string_view bytes) {
  return hex_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::uint64_t hash64(std::string_view bytes) {
  return XXH3_128bits(bytes.data(), bytes.size()).low64;
}

}  // namespace plumbline
