// SPDX-License-Identifier: BSD-3-Clause
#include "support/paths.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/error.hpp"

namespace plumbline {
namespace fs = std::filesystem;

bool path_exists(const fs::path& path) {
  std::error_code error;
  const bool found = fs::exists(path, error);
  if (error)
    throw InputError(fmt::format("{}: cannot be used: {}; check the path, its links and the rights", path.string(),
                                 error.message()));
  return found;
}

bool folder_exists(const fs::path& path) {
  return path_exists(path) && fs::is_directory(path);
}

std::vector<fs::path> files_matching(const fs::path& pattern) {
  if (path_exists(pattern)) return {pattern};
  if (pattern.string().find_first_of("*?[") == std::string::npos) return {};
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &found);
  std::vector<fs::path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (code != 0 && code != GLOB_NOMATCH) {
    throw InputError(pattern.string() + ": a folder of this path cannot be read; check the path and the rights");
  }
  std::ranges::sort(files, {}, [](const fs::path& each) { return each.string(); });
  return files;
}

std::optional<std::uintmax_t> free_bytes(const std::filesystem::path& path) {
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0) return std::nullopt;
  return std::uintmax_t{disk.f_bavail} * disk.f_frsize;
}

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : program.parent_path();
}

fs::path temporary_folder() {
  std::error_code error;
  const fs::path path = fs::temp_directory_path(error);
  if (error) {
    const char* named = std::getenv("TMPDIR");
    throw InputError(
        fmt::format("the folder for temporary files{} cannot be used: {}; create it, or set TMPDIR to another",
                    named ? fmt::format(", TMPDIR = {},", named) : "", error.message()));
  }
  return path;
}

fs::path make_temporary_folder(const std::string& name) {
  std::string path = (temporary_folder() / (name + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr)
    throw SystemError(fmt::format("{}: cannot be created: {}", path, std::strerror(errno)));
  return path;
}

}  // namespace plumbline
