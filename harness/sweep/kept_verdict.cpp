// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/kept_verdict.hpp"

#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

constexpr const char* digest_key = "digest";

}  // namespace

void write_kept_verdict(const std::filesystem::path& path, const Verdict& verdict) {
  Json kept = to_json(verdict);
  const std::string digest = hash_hex(kept.dump());
  kept[digest_key] = digest;
  write_json(path, kept);
}

Verdict read_kept_verdict(const std::filesystem::path& path) {
  Json kept = read_json(path);
  const Json digest = kept.is_object() ? kept.value(digest_key, Json()) : Json();
  if (digest.is_string()) kept.erase(digest_key);
  if (digest != Json(hash_hex(kept.dump()))) throw InputError(path.string() + ": is not as this program wrote it");
  return read_verdict(path);
}

}  // namespace plumbline
