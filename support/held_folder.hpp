// SPDX-License-Identifier: BSD-3-Clause
// Temporary folders, locked by the processes that use them, so that folders of killed processes can be removed.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Opens and locks the folder. `operation`: of flock, such as LOCK_SH. Returns the descriptor, which keeps the lock
/// until it is closed or the process ends; -1 if another process has it (with LOCK_NB), if the folder is gone, or
/// without locks.
int hold_folder(const std::filesystem::path& folder, int operation);

/// Removes the folders in `parent` whose names begin with `prefix`, which belong to this user and which no process
/// has locked; not those younger than two seconds, which may be about to be locked.
void remove_abandoned_folders(const std::filesystem::path& parent, const std::string& prefix);

}  // namespace plumbline
