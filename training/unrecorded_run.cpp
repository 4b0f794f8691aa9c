// SPDX-License-Identifier: BSD-3-Clause
#include "training/unrecorded_run.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "support/files.hpp"
#include "support/held_folder.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::string name = "plumbline-unrecorded";

}  // namespace

fs::path make_unrecorded_folder() {
  remove_abandoned_folders(temporary_folder(), name + "-");
  return make_temporary_folder(name);
}

UnrecordedRun::UnrecordedRun(RankFolders folders, int rank) : folders_(std::move(folders)), rank_(rank) {
  if (!path_exists(folder())) remove_abandoned_folders(folder().parent_path(), name + "-");  // on another host
  do {
    make_folder(folder());
    lock_ = hold_folder(folder(), LOCK_SH);
  } while (lock_ < 0 && !path_exists(folder()));  // taken for an abandoned one
}

UnrecordedRun::~UnrecordedRun() {
  std::error_code ignored;
  const fs::path own = folders_.of(rank_), pipeline = folders_.pipeline_of(rank_);
  fs::remove_all(own, ignored);
  if (own == pipeline / rank_folder(0)) fs::remove(pipeline / "manifest.json", ignored);
  for (const auto& each : {pipeline, folders_.record}) {
    fs::remove(each, ignored);  // fails while another rank has files there
  }
  if (lock_ >= 0) close(lock_);
}

void UnrecordedRun::remove_all() const {
  std::error_code ignored;
  fs::remove_all(folders_.record, ignored);
}

}  // namespace plumbline
