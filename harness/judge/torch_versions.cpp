// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/torch_versions.hpp"

#include <fmt/format.h>

namespace plumbline::judging {
namespace {

std::string torch_of(const Manifest& manifest) {
  std::string version = manifest.version_of("torch");
  if (version.empty()) version = manifest.version_of("libtorch");
  return version.substr(0, version.find('+'));
}

}  // namespace

std::optional<std::string> why_other_torch(const Manifest& reference, const Manifest& candidate) {
  const std::string one = torch_of(reference), other = torch_of(candidate);
  if (one.empty() || other.empty() || one == other) return std::nullopt;
  const std::string onednn = reference.version_of("onednn"), other_onednn = candidate.version_of("onednn");
  std::string words = fmt::format("torch {} against {}", one, other);
  if (!onednn.empty() && !other_onednn.empty()) words += fmt::format(" (oneDNN {}, {})", onednn, other_onednn);
  return words;
}

}  // namespace plumbline::judging
