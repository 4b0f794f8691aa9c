#include "support/paths.hpp"

#include <cstdlib>
#include <string>

#include "support/error.hpp"

namespace plumbline {
namespace fs = std::filesystem;

bool path_exists(const fs::path& path) {
  std::error_code error;
  const bool found = fs::exists(path, error);
  if (error) {
    throw InputError(path.string() + ": cannot be used: " + error.message() +
                     "; check the path, its links and the rights");
  }
  return found;
}

bool folder_exists(const fs::path& path) {
  return path_exists(path) && fs::is_directory(path);
}

fs::path temporary_folder() {
  std::error_code error;
  const fs::path path = fs::temp_directory_path(error);
  if (error) {
    const char* named = std::getenv("TMPDIR");
    throw InputError("the folder for temporary files" + (named ? ", TMPDIR = " + std::string(named) + "," : "") +
                     " cannot be used: " + error.message() + "; make it, or let TMPDIR name another");
  }
  return path;
}

}  // namespace plumbline
