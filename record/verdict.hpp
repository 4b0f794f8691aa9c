// SPDX-License-Identifier: BSD-3-Clause
// verdict.json, schema plumbline-verdict/3 (docs/verdict.md): the results of a sweep. Written by harness/, read by
// reports/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/finding.hpp"
#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* verdict_schema = "plumbline-verdict/3";

/// incomplete: nothing differs, and not all that must be there was compared. does_not_apply: nothing had to be there.
enum class Outcome { holds, differs, incomplete, does_not_apply };
std::string to_text(Outcome outcome);

/// How values are compared: bit for bit, or within the limits of a calibration.
enum class ComparisonMode { bits, calibrated };
std::string to_text(ComparisonMode comparison_mode);

/// Counts by name: tensors, elements, ranks, ...
using Counts = std::map<std::string, std::int64_t>;

struct CheckResult {
  std::string name;
  Outcome outcome = Outcome::incomplete;
  bool required = true;                   ///< its case does not hold while it is incomplete
  bool accepted = false;                  ///< the user accepts that it is incomplete (accept_missing)
  std::optional<std::int64_t> from_step;  ///< incomplete: the first step that was not compared; nullopt: none was
  std::string reason;                     ///< one sentence; for `holds`, what was shown
  Counts compared;                        ///< values compared with another record's or with a recomputed one
  Counts inspected;                       ///< values only inspected: sizes, forms, the reference's own rows
  Counts evidence;                        ///< figures of the case that are not summed over cases
  std::vector<std::string> not_shown;     ///< parts of its claim that these runs do not cover, with the reason
  std::string limit;                      ///< "0 ULP", "equal to the byte", "60 % of the reference", with the reason
  std::string measured;
  std::optional<double> margin;  ///< measured / limit; absent for exact checks
  std::vector<std::int64_t>
      predicted_peak_bytes;                 ///< check `memory`: predicted activation peak of each rank; else empty
  std::optional<Finding> first_divergence;  ///< the earliest differing item in execution order
};

/// True if the check keeps its case from holding: it differs, or it is required, incomplete and not accepted.
bool is_blocking(const CheckResult& check);
bool none_blocks(const std::vector<CheckResult>& checks);

/// The names of those that differ; if none does, of those that block.
std::vector<std::string> failing_claims(const std::vector<CheckResult>& checks);

/// True of the claims without which no case holds, whoever wrote its records: data, loss, gradients, parameters, and
/// buffers. The user may accept that they are incomplete.
bool is_of_every_case(const std::string& claim);
/// Their names.
const std::vector<std::string>& claims_of_every_case();

/// "compared through step 4; from step 5 on: <reason>".
std::string reason_words(const CheckResult& check);

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
  std::string torch;                           ///< its version; empty if the record does not state it
  std::optional<std::int64_t> from_step = {};  ///< the first step without it; nullopt: no step has it

  friend bool operator==(const Unrecorded&, const Unrecorded&) = default;
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
  std::vector<CheckResult> checks;
  std::optional<Finding> first_divergence;  ///< the earliest over all checks
  std::optional<SecondRun> second_run;      ///< of a failed case

  /// True if nothing differs, and the case does not hold because a required claim is incomplete.
  bool incomplete() const;
  /// True if the case failed and the second run passed. It still counts as failed.
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
  Counts counts;  ///< cases, cases_holding, cases_incomplete, cases_unstable, cases_not_run, claims, claims_<outcome>
  Counts compared, inspected;  ///< sums over references and cells
  Json harness = nullptr;      ///< version and commit of the judge
  Json machine;                ///< from the reference's manifest: machine, versions, environment
  std::vector<ReferenceVerdict> references;
  std::vector<CellVerdict> cells;
  std::vector<std::string> not_run;  ///< what should have run and did not, with the reason
  std::vector<std::string>
      not_applicable;  ///< cases of the matrix that their schedule does not support, with the reason
};

/// "gradients, parameters were not compared from step 5 on: <why>", a part for each reason: of the incomplete claims
/// that the user accepts, or of those that keep the case from holding. Empty if there are none.
std::string missing_words(const std::vector<CheckResult>& checks, bool accepted);
/// The claims that the user could accept to make an incomplete case hold; empty if that cannot be.
std::vector<std::string> acceptable_claims(const std::vector<CheckResult>& checks);
/// "--accept-missing gradients,parameters"
std::string accepting_option(const std::vector<CheckResult>& checks);
/// "accept_missing = ["gradients", "parameters"]"
std::string accepting_key(const std::vector<CheckResult>& checks);

/// Computes counts, compared and inspected from references and cases. Failed checks count, too.
void sum_up(Verdict& verdict);

Json to_json(const Verdict& verdict);
/// Throws InputError naming file and key: another schema, a missing key, a wrong type, a claim or finding of a case
/// that is not listed.
Verdict read_verdict(const std::filesystem::path& path);
void write_verdict(const std::filesystem::path& path, const Verdict& verdict);

}  // namespace plumbline
