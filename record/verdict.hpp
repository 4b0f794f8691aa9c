// What the harness found: verdict.json, schema plumbline-verdict/1. Written by harness/, read by reports/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

enum class Outcome { holds, fails, not_run, not_applicable, not_triggered };
std::string to_text(Outcome outcome);
Outcome parse_outcome(const std::string& text);

/// The earliest differing item in execution order.
struct FirstDivergence {
  std::string rung;  ///< R1 ... R5, or the structural check's name
  std::int64_t step = 0;
  std::optional<std::int64_t> microbatch;
  std::optional<std::int64_t> stage;
  std::optional<std::int64_t> rank;
  std::string direction;  ///< forward | backward | empty
  std::string item;       ///< cut ("layers.3"), tensor name, or edge ("rank 0 -> rank 1")
  std::string expected, got;
  std::string words;  ///< one sentence for people
};

struct CheckResult {
  std::string name;
  Outcome outcome = Outcome::not_run;
  std::string reason;                             ///< one sentence; for `holds` what was shown
  std::map<std::string, std::int64_t> looked_at;  ///< tensors, elements, nonzero_elements, microbatches, ranks, ...
  std::string limit;                              ///< "0 ULP", "equal to the byte", "60 % of the reference" and why
  std::string measured;
  std::optional<double> margin;                    ///< measured / limit; absent for exact checks
  std::vector<std::int64_t> predicted_peak_bytes;  ///< `memory`: each rank's activations by the law; empty elsewhere
  std::optional<FirstDivergence> first_divergence;
  bool required = true;
};

struct CellVerdict {
  std::string id;  ///< folder name of the cell's record, "stories260k-adamw-1f1b-w4"
  std::string run, model, schedule, optimizer;
  std::int64_t world = 0;
  std::vector<std::int64_t> balance;  ///< empty when the partition is computed
  bool holds = false;
  double seconds = 0;
  std::string command;  ///< runs this one cell again
  std::vector<CheckResult> checks;
  std::optional<FirstDivergence> first_divergence;  ///< the earliest of all checks'
};

struct Verdict {
  bool holds = false;
  std::string name, started;
  std::map<std::string, std::int64_t> counts;  ///< cells, cells_holding, checks, tensors, elements, bytes, ...
  std::vector<CellVerdict> cells;
  std::vector<std::string> not_run;         ///< what was to run and did not, with why
  std::vector<std::string> not_applicable;  ///< cells of the matrix that their schedule cannot have, with why
  Json machine;                             ///< from the reference's manifest: machine, versions, environment
};

/// Whether any check of it held values within calibrated limits instead of in bits.
bool within_limits(const Verdict& verdict);

Json to_json(const Verdict& verdict);
/// Throws InputError naming the file: another schema, a key missing.
Verdict read_verdict(const std::filesystem::path& path);
void write_verdict(const std::filesystem::path& path, const Verdict& verdict);

}  // namespace plumbline
