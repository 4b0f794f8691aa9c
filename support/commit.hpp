// SPDX-License-Identifier: BSD-3-Clause
// Version and commit of the build, in a separate file, so that a new commit recompiles only a few lines. The build
// generates the definitions, for the targets that request it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

/// Abbreviated hash, with "-dirty" if the tree had changes; empty in a build outside a checkout.
std::string source_commit();

/// "0.2.0", from the file VERSION.
std::string project_version();

/// "2.15.0": the newest LibTorch that this version was tested with, from cmake/libtorch-wheels.txt.
std::string tested_libtorch();

/// What `--version` prints: "plumbline 0.2.0, commit 53e5aab7c2d1".
inline std::string version_text(const std::string& program) {
  const std::string commit = source_commit();
  return program + " " + project_version() + (commit.empty() ? "" : ", commit " + commit);
}

/// Number of commits of the current checkout's HEAD that `commit` ("53e5aab7c2d1-dirty") lacks; nullopt outside a
/// checkout, or if it does not know the commit.
std::optional<std::int64_t> commits_behind_head(const std::string& commit);

}  // namespace plumbline
