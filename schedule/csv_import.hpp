// SPDX-License-Identifier: BSD-3-Clause
// Schedule files of others: torch.distributed.pipelining's CSV in its two dialects, and ours with messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/execution_model.hpp"
#include "schedule/finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

enum class CsvDialect : std::uint8_t {
  plumbline,  ///< B full backward, I input gradient, W; REDUCE, STEP
  torch,      ///< the same letters; compound cells; UNSHARD, RESHARD, REDUCE_GRAD
  torch_old,  ///< older torch: B is the input gradient, BW the full backward
};

std::string_view name(CsvDialect dialect);  ///< "plumbline", "torch", "torch-old"
std::optional<CsvDialect> parse_csv_dialect(std::string_view text);

struct ImportOptions {
  std::optional<CsvDialect> dialect = std::nullopt;       ///< told by the cells when not given
  std::optional<PlacementKind> placement = std::nullopt;  ///< told by the rows when not given
  std::string dialect_option = "--dialect";               ///< how the user names the dialect, for messages
};

struct ImportedSchedule {
  Schedule schedule;
  bool has_messages = false;
  CsvDialect dialect = CsvDialect::plumbline;
  std::vector<std::string> notes;  ///< what was left out or assumed
};

/// Whether the cells of a file tell its dialect. Throws InputError for what is no table.
bool tells_dialect(const std::filesystem::path& path);

/// Reads a file as torch's loader does, which minds neither blanks around cells nor a missing last line break; whether
/// the schedule is any good is find_faults' to say. The number of microbatches is that of most stages' forwards.
/// Compound cells `(0F7;7B3)OVERLAP_F_B` are taken in order; UNSHARD, RESHARD and REDUCE_GRAD are left out with a note.
/// Throws InputError with row and column (from 1) of a cell that is no action of the dialect, and for a file whose
/// letters could mean either dialect, or whose stages lie neither in a loop nor in a V.
ImportedSchedule import_schedule(const std::filesystem::path& path, const ImportOptions& options = {});

/// All findings on an imported file. Compute-only lists are lowered first.
std::vector<Finding> check_imported(const ImportedSchedule& imported, ExecutionModel model);

/// The file's bytes in a dialect. REDUCE and STEP have no word in torch's and are left out there.
std::string export_schedule(const Schedule& schedule, CsvDialect dialect);

/// Loop or V, whichever more of the actions lie right under; loop where they tell nothing.
PlacementKind infer_placement(const Schedule& schedule);

}  // namespace plumbline
