// SPDX-License-Identifier: BSD-3-Clause
// What the harness found: verdict.json, schema plumbline-verdict/2 (docs/verdict.md). Written by harness/, read by
// reports/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/value_findings.hpp"
#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* verdict_schema = "plumbline-verdict/2";

enum class Outcome { holds, fails, not_run, not_applicable, not_triggered };
std::string to_text(Outcome outcome);
Outcome parse_outcome(const std::string& text);

/// What is asked of a check: it has to hold; it is told, and keeps its cell from holding only where it fails; its claim
/// makes no sense here.
enum class Requirement { required, told, not_applicable };
std::string to_text(Requirement requirement);
Requirement parse_requirement(const std::string& text);

/// How values are compared: bit for bit, or within the limits of a calibration.
enum class Tier { bits, calibrated };
std::string to_text(Tier tier);

/// Numbers of things by their name: tensors, elements, ranks, ...
using Counts = std::map<std::string, std::int64_t>;

/// The earliest differing item in execution order.
struct FirstDivergence {
  std::string rung;  ///< R1 ... R5, or the structural check's name
  std::int64_t step = 0;
  std::optional<std::int64_t> microbatch;
  std::optional<std::int64_t> stage;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> replica;  ///< where pipelines trained side by side
  std::string direction;                ///< forward | backward | empty
  std::string item;                     ///< cut ("layers.3"), tensor name, or edge ("rank 0 -> rank 1")
  std::string expected, got;
  std::string size;   ///< how large the difference is, where that is known: ratios of norms, an element and its ULPs
  std::string words;  ///< one sentence for people
};

struct CheckResult {
  std::string name;
  Outcome outcome = Outcome::not_run;
  Requirement requirement = Requirement::required;
  std::string reason;                  ///< one sentence; for `holds` what was shown
  Counts compared;                     ///< held against another record's value, or against one that was recomputed
  Counts looked_at;                    ///< gone through beside that: sizes, forms, the reference's own rows
  std::vector<std::string> not_shown;  ///< parts of its claim that these runs could not have shown wrong, with why
  std::string limit;                   ///< "0 ULP", "equal to the byte", "60 % of the reference" and why
  std::string measured;
  std::optional<double> margin;                    ///< measured / limit; absent for exact checks
  std::vector<std::int64_t> predicted_peak_bytes;  ///< `memory`: each rank's activations by the law; empty elsewhere
  std::optional<FirstDivergence> first_divergence;
};

/// Whether it keeps its cell from holding: it fails, or it is required and shows nothing.
bool stands_in_the_way(const CheckResult& check);

/// What came of running a failing cell once more.
struct SecondRun {
  enum class Outcome { fails_again, holds, not_done };
  Outcome outcome = Outcome::not_done;
  std::string words;
};
std::string to_text(SecondRun::Outcome outcome);

/// What the recorder of one of a cell's records could not see.
struct Unrecorded {
  std::string record;  ///< reference | candidate
  std::string what;    ///< receives, losses, ... (record/not_recorded.hpp)
  std::string why;
  std::string torch;  ///< its version; empty where the record does not tell it

  friend bool operator==(const Unrecorded&, const Unrecorded&) = default;
};

struct CellVerdict {
  std::string id;  ///< folder name of the cell's record, "stories260k-adamw-1f1b-w4"
  std::string run, model, schedule, optimizer;
  std::int64_t world = 0;
  std::vector<std::int64_t> balance;  ///< empty when the partition is computed
  std::string variant;                ///< what else sets it apart: "partition cost", "lengths 64x8"; mostly empty
  std::string reference;              ///< id of the reference that it was compared with
  bool holds = false;
  double seconds = 0;
  std::string command;      ///< runs this one cell again
  Json request = nullptr;   ///< request.json: what was asked of the run; null where nobody asked
  Json versions = nullptr;  ///< the candidate's: its manifest's `versions`, with device and transport
  std::vector<Unrecorded> not_recorded;
  std::vector<CheckResult> checks;
  std::optional<FirstDivergence> first_divergence;  ///< the earliest of all checks'
  std::optional<SecondRun> second_run;              ///< of a cell that failed
  std::optional<ValueFindings> values;              ///< of its dumps, where it failed and was dumped

  /// Failed, and held when it was run once more: red all the same.
  bool unstable() const { return !holds && second_run && second_run->outcome == SecondRun::Outcome::holds; }
};

/// What was found out of a reference alone, once, however many cells are compared with it.
struct ReferenceVerdict {
  std::string id;  ///< folder name of its record
  std::string run, model, optimizer;
  bool finished = false;
  std::string reason;  ///< why it did not finish
  double seconds = 0;
  Json request = nullptr, versions = nullptr;
  std::vector<CheckResult> checks;
};

/// How much of a sweep was asked for.
struct Selection {
  std::int64_t cells = 0;           ///< asked for
  std::int64_t of_cells = 0;        ///< that the sweep file stands for
  std::vector<std::string> checks;  ///< asked for; empty = all

  bool partial() const { return cells < of_cells || !checks.empty(); }
};

struct Verdict {
  bool holds = false;
  std::string name, started;
  Tier tier = Tier::bits;
  Selection selection;
  Counts counts;               ///< cells, cells_holding, cells_unstable, cells_not_run, checks, checks_<outcome>
  Counts compared, looked_at;  ///< sums over references and cells
  Json harness = nullptr;      ///< version and commit of the judge
  Json machine;                ///< from the reference's manifest: machine, versions, environment
  std::vector<ReferenceVerdict> references;
  std::vector<CellVerdict> cells;
  std::vector<std::string> not_run;         ///< what was to run and did not, with why
  std::vector<std::string> not_applicable;  ///< cells of the matrix that their schedule cannot have, with why
};

/// Fills in counts, compared and looked_at from references and cells. Of a check that fails what it compared counts
/// too.
void sum_up(Verdict& verdict);

Json to_json(const Verdict& verdict);
/// Reads schema 1 as well, whose counts tell nothing of what was compared: they are all `looked_at`. Throws InputError
/// naming file and key: another schema, a key missing or of another type.
Verdict read_verdict(const std::filesystem::path& path);
void write_verdict(const std::filesystem::path& path, const Verdict& verdict);

}  // namespace plumbline
