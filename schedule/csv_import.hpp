// SPDX-License-Identifier: BSD-3-Clause
// Imports schedule files: torch.distributed.pipelining's CSV in two dialects, and Plumbline's with messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/execution_model.hpp"
#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

enum class CsvDialect : std::uint8_t {
  plumbline,  ///< B full backward, I input gradient, W; REDUCE, STEP
  torch,      ///< the same letters; compound cells; UNSHARD, WAIT_SEND_F and others, which are ignored
  torch_old,  ///< older torch: B is the input gradient, BW the full backward
};

std::string_view name(CsvDialect dialect);  ///< "plumbline", "torch", "torch-old"
std::optional<CsvDialect> parse_csv_dialect(std::string_view text);

struct ImportOptions {
  std::optional<CsvDialect> dialect = std::nullopt;       ///< detected from the cells if not given
  std::optional<PlacementKind> placement = std::nullopt;  ///< detected from the rows if not given
  std::string dialect_option = "--dialect";               ///< the user's option for the dialect, for messages
};

struct ImportedSchedule {
  Schedule schedule;
  bool has_messages = false;
  CsvDialect dialect = CsvDialect::plumbline;
  std::vector<std::string> notes;  ///< what was omitted or assumed
};

/// Whether the cells of a file determine its dialect. Throws InputError if it is not a table.
bool tells_dialect(const std::filesystem::path& path);

/// Reads a file as torch's loader does, which ignores blanks around cells and accepts a missing last line break;
/// find_faults checks the schedule. The number of microbatches is the number of forwards of most stages. Compound cells
/// `(0F7;7B3)OVERLAP_F_B` are read in order; actions without an effect here (UNSHARD, WAIT_SEND_F) are omitted with a
/// note. Throws InputError with row and column (from 1) of a cell that is not an action of the dialect, for a file that
/// fits both dialects, and for stages placed neither in a loop nor in a V.
ImportedSchedule import_schedule(const std::filesystem::path& path, const ImportOptions& options = {});

/// All findings about an imported file. Compute-only lists are lowered first.
std::vector<ListFinding> check_imported(const ImportedSchedule& imported, ExecutionModel model);

/// The file's bytes in a dialect. torch's dialects have no REDUCE and STEP; they are omitted there.
std::string export_schedule(const Schedule& schedule, CsvDialect dialect);

/// Loop or V, whichever puts more actions on the right rank; loop if they are equal.
PlacementKind infer_placement(const Schedule& schedule);

}  // namespace plumbline
