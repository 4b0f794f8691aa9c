#include "training/unrecorded_run.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "support/error.hpp"
#include "support/paths.hpp"

namespace plumbline {

namespace fs = std::filesystem;

fs::path make_unrecorded_folder() {
  std::string name = (temporary_folder() / "plumbline-run-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw SystemError(name + ": cannot be made: " + std::strerror(errno));
  return name;
}

UnrecordedRun::UnrecordedRun(fs::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}

UnrecordedRun::~UnrecordedRun() {
  std::error_code ignored;
  fs::remove_all(folder_ / ("rank-" + std::to_string(rank_)), ignored);
  if (rank_ == 0) fs::remove(folder_ / "manifest.json", ignored);
  fs::remove(folder_, ignored);  // not while another rank has something there
}

}  // namespace plumbline
