// SPDX-License-Identifier: BSD-3-Clause
// Records with only a manifest, which decides whether they can be compared.
#pragma once

#include "record/manifest.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// The manifest, changed by `patch` (RFC 7396: null removes a key).
inline Record manifest_with(Json manifest, const Json& patch) {
  manifest.merge_patch(patch);
  Record record;
  record.manifest = parse_manifest("manifest.json", manifest);
  record.first_step = record.manifest.first_step;
  return record;
}

inline Record reference_manifest(const Json& patch = Json::object()) {
  static const Json plain = synthetic_reference({}).manifest;
  return manifest_with(plain, patch);
}

inline Record candidate_manifest(const Json& patch = Json::object()) {
  static const Json plain = synthetic_candidate({}).manifest;
  return manifest_with(plain, patch);
}

/// A manifest of an external trainer.
inline Json of_external(Json patch = Json::object()) {
  patch["role"] = "external";
  return patch;
}

}  // namespace plumbline::testing
