// One row of a history: what one run of one sweep or bench computed, took and how fast it was (docs/history.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/csv.hpp"

namespace plumbline {

inline constexpr const char* history_schema = "plumbline-history/1";

/// Speed of a run: its tokens a second over those of the reference of the same sweep or bench.
struct SpeedRatio {
  double value = 0;
  std::optional<double> low, high;  ///< interval of the median over several rounds; absent for a single one
  std::int64_t rounds = 1;
};

struct HistoryRow {
  std::string taken;                        ///< when its sweep or bench began, RFC 3339 in UTC
  std::string machine;                      ///< fingerprint: times are compared within it
  std::string machine_name;                 ///< for people
  std::string code_path;                    ///< fingerprint: bits are compared within it
  std::string commit;                       ///< of the trainers
  std::string source;                       ///< sweep | bench
  std::string sweep, run;                   ///< the sweep file's name; the id of a reference or cell
  std::string asked;                        ///< digest of what was asked of it: another request begins another series
  std::string verdict;                      ///< holds | does not hold | finished | not finished
  std::string bits;                         ///< digest of all parameters at the end; empty where the record has none
  std::optional<std::int64_t> state_bytes;  ///< parameters, gradients and optimiser state, of all ranks
  std::optional<std::int64_t> activation_bytes;  ///< peaks of activations, of all ranks
  std::optional<std::int64_t> sent_bytes;        ///< of all ranks
  std::optional<SpeedRatio> speed;               ///< of a cell whose reference was run in the same sweep or bench

  /// Whether both tell of the same run of the same sweep: one of them is enough.
  bool same_run(const HistoryRow& other) const {
    return taken == other.taken && machine == other.machine && source == other.source && sweep == other.sweep &&
           run == other.run;
  }
};

const std::vector<std::string>& history_columns();
std::vector<std::string> to_cells(const HistoryRow& row);
/// Throws InputError naming file, line and column: another schema, a time or number that is none, a low end above its
/// high end.
HistoryRow history_row(const std::filesystem::path& file, const CsvRow& row);

}  // namespace plumbline
