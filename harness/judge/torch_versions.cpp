#include "harness/judge/torch_versions.hpp"

namespace plumbline::judging {
namespace {

std::string version_of(const Manifest& manifest, const char* library) {
  const auto versions = manifest.json.find("versions");
  if (versions == manifest.json.end() || !versions->is_object()) return "";
  const auto found = versions->find(library);
  return found != versions->end() && found->is_string() ? found->get<std::string>() : "";
}

std::string torch_of(const Manifest& manifest) {
  std::string version = version_of(manifest, "torch");
  if (version.empty()) version = version_of(manifest, "libtorch");
  return version.substr(0, version.find('+'));
}

}  // namespace

std::optional<std::string> why_other_torch(const Manifest& reference, const Manifest& candidate) {
  const std::string one = torch_of(reference), other = torch_of(candidate);
  if (one.empty() || other.empty() || one == other) return std::nullopt;
  const std::string onednn = version_of(reference, "onednn"), other_onednn = version_of(candidate, "onednn");
  std::string words = "torch " + one + " against " + other;
  if (!onednn.empty() && !other_onednn.empty()) words += " (oneDNN " + onednn + ", " + other_onednn + ")";
  return words;
}

}  // namespace plumbline::judging
