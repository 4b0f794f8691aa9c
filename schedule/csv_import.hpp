// SPDX-License-Identifier: BSD-3-Clause
// Imports schedule files: torch.distributed.pipelining's CSV, and Plumbline's, which adds REDUCE and STEP.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

struct ImportedSchedule {
  Schedule schedule;
  bool has_messages = false;
  std::vector<std::string> notes;  ///< what was omitted or assumed
};

/// Reads a file as torch's loader does, which ignores blanks around cells and accepts a missing last line break;
/// find_faults checks the schedule. B is the full backward, I the input gradient. The number of microbatches is the
/// number of forwards of most stages. Compound cells `(0F7;7B3)OVERLAP_F_B` are read in order; torch's actions without
/// an effect here (UNSHARD, WAIT_SEND_F) are omitted with a note. `placement`: of the stages; detected from the rows if
/// not given. Throws InputError with row and column (from 1) of a cell that is not an action, and for stages placed
/// neither in a loop nor in a V.
ImportedSchedule import_schedule(const std::filesystem::path& path, std::optional<PlacementKind> placement = {});

/// All findings about an imported file, for a transport (mpi, threads, nccl). Compute-only lists are lowered first.
std::vector<ListFinding> check_imported(const ImportedSchedule& imported, const std::string& transport);

/// The file's bytes as torch's loader takes them: without REDUCE and STEP, which it does not have.
std::string export_for_torch(const Schedule& schedule);

/// Loop or V, whichever puts more actions on the right rank; loop if they are equal.
PlacementKind infer_placement(const Schedule& schedule);

}  // namespace plumbline
