// SPDX-License-Identifier: BSD-3-Clause
// verdict.json, schema plumbline-verdict/2 (docs/verdict.md): the results of a sweep. Written by harness/, read by
// reports/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/finding.hpp"
#include "record/value_findings.hpp"
#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* verdict_schema = "plumbline-verdict/2";

enum class Outcome { holds, fails, not_run, not_applicable, not_triggered };
std::string to_text(Outcome outcome);

/// How a check counts for its case. required: it must hold. informational: informational, only a failure keeps the case
/// from holding. not_applicable: its claim has no meaning for the case.
enum class Requirement { required, informational, not_applicable };
std::string to_text(Requirement requirement);

/// How values are compared: bit for bit, or within the limits of a calibration.
enum class ComparisonMode { bits, calibrated };
std::string to_text(ComparisonMode comparison_mode);

/// Counts by name: tensors, elements, ranks, ...
using Counts = std::map<std::string, std::int64_t>;

struct CheckResult {
  std::string name;
  Outcome outcome = Outcome::not_run;
  Requirement requirement = Requirement::required;
  std::string reason;                  ///< one sentence; for `holds`, what was shown
  Counts compared;                     ///< values compared with another record's or with a recomputed one
  Counts inspected;                    ///< values only inspected: sizes, forms, the reference's own rows
  std::vector<std::string> not_shown;  ///< parts of its claim that these runs do not cover, with the reason
  std::string limit;                   ///< "0 ULP", "equal to the byte", "60 % of the reference", with the reason
  std::string measured;
  std::optional<double> margin;  ///< measured / limit; absent for exact checks
  std::vector<std::int64_t>
      predicted_peak_bytes;                 ///< check `memory`: predicted activation peak of each rank; else empty
  std::optional<Finding> first_divergence;  ///< the earliest differing item in execution order
};

/// True if the check keeps its case from holding: it fails, or it is required and was not run.
bool is_blocking(const CheckResult& check);

/// Result of running a failing case a second time.
struct SecondRun {
  enum class Outcome { fails_again, holds, not_done };
  Outcome outcome = Outcome::not_done;
  std::string words;
};
std::string to_text(SecondRun::Outcome outcome);

/// What the recorder of one of a case's records could not see.
struct Unrecorded {
  std::string record;  ///< reference | candidate
  std::string what;    ///< receives, losses, ... (record/not_recorded.hpp)
  std::string why;
  std::string torch;  ///< its version; empty if the record does not state it

  friend bool operator==(const Unrecorded&, const Unrecorded&) = default;
};

/// A part of a claim that no case holds without, and that was not compared.
struct Missing {
  std::string claim;                      ///< data, loss, gradients, parameters or buffers
  std::optional<std::int64_t> from_step;  ///< the first step that was not compared; nullopt: none was
  std::string why;                        ///< with what to do
  bool accepted = false;                  ///< by the user: it keeps no case from holding

  friend bool operator==(const Missing&, const Missing&) = default;
};

struct CellVerdict {
  std::string id;  ///< folder name of the case's record, "stories260k-adamw-1f1b-w4"
  std::string run, model, schedule, optimizer;
  std::int64_t world = 0;             ///< ranks of all replicas
  std::int64_t replicas = 1;          ///< copies of the pipeline
  std::vector<std::int64_t> balance;  ///< empty when the partition is computed
  std::string variant;    ///< other distinguishing settings: "partition cost", "lengths 64x8"; usually empty
  std::string reference;  ///< id of the reference of the comparison
  bool holds = false;
  double seconds = 0;
  std::string command;      ///< runs this case again
  Json request = nullptr;   ///< request.json; null if the run was not requested by a sweep
  Json versions = nullptr;  ///< `versions` of the candidate's manifest, with device and transport
  std::vector<Unrecorded> not_recorded;
  std::vector<Missing> missing;
  /// The step whose clip coefficients differ as roundings of a norm do: nothing of its update and of later steps was
  /// compared. nullopt: there is none.
  std::optional<std::int64_t> norm_diverged_at;
  std::vector<CheckResult> checks;
  std::optional<Finding> first_divergence;  ///< the earliest over all checks
  std::optional<SecondRun> second_run;      ///< of a failed case
  std::optional<ValueFindings> values;      ///< of a failed case with dumps

  /// True if nothing differs, and the case does not hold because something was not compared.
  bool incomplete() const;
  /// True if the case failed and the second run held. It still counts as failed.
  bool unstable() const { return !holds && second_run && second_run->outcome == SecondRun::Outcome::holds; }
};

/// Results about a reference alone, computed once for all cases that are compared with it.
struct ReferenceVerdict {
  std::string id;  ///< folder name of its record
  std::string run, model, optimizer;
  bool finished = false;
  std::string reason;  ///< if it did not finish
  double seconds = 0;
  Json request = nullptr, versions = nullptr;
  std::vector<CheckResult> checks;
};

/// The selected part of a sweep.
struct Selection {
  std::int64_t cells = 0;           ///< asked for
  std::int64_t of_cells = 0;        ///< all cases of the sweep file
  std::vector<std::string> checks;  ///< selected checks; empty = all

  bool partial() const { return cells < of_cells || !checks.empty(); }
};

struct Verdict {
  bool holds = false;
  std::string name, started;
  ComparisonMode comparison_mode = ComparisonMode::bits;
  Selection selection;
  Counts counts;  ///< cells, cells_holding, cells_incomplete, cells_unstable, cells_not_run, checks, checks_<outcome>
  Counts compared, inspected;  ///< sums over references and cells
  Json harness = nullptr;      ///< version and commit of the judge
  Json machine;                ///< from the reference's manifest: machine, versions, environment
  std::vector<ReferenceVerdict> references;
  std::vector<CellVerdict> cells;
  std::vector<std::string> not_run;  ///< what should have run and did not, with the reason
  std::vector<std::string>
      not_applicable;  ///< cases of the matrix that their schedule does not support, with the reason
};

/// "gradients and parameters were not compared from step 5 on: <why>", a part for each reason. `accepted`: of those
/// that the user accepts, else of the others. Empty if there are none.
std::string missing_words(const std::vector<Missing>& missing, bool accepted);
/// "--accept-missing gradients,parameters": what would accept all that is missing.
std::string accepting_option(const std::vector<Missing>& missing);
/// "accept_missing = ["gradients", "parameters"]": the same in a sweep file.
std::string accepting_key(const std::vector<Missing>& missing);

/// True if no check keeps the case from holding, and all that is missing was accepted.
bool holds_in_all(const CellVerdict& cell);

/// Computes counts, compared and inspected from references and cases. Failed checks count, too.
void sum_up(Verdict& verdict);

Json to_json(const Verdict& verdict);
/// Also reads schema 1, whose counts do not state what was compared: they all become `inspected`. Throws InputError
/// naming file and key: unsupported schema, missing key, wrong type.
Verdict read_verdict(const std::filesystem::path& path);
void write_verdict(const std::filesystem::path& path, const Verdict& verdict);

}  // namespace plumbline
