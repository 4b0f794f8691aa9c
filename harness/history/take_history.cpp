#include "harness/history/take_history.hpp"

#include <algorithm>
#include <map>

#include "harness/baseline/run_identity.hpp"
#include "harness/baseline/take_run.hpp"
#include "harness/history/step_seconds.hpp"
#include "record/bench_result.hpp"
#include "record/mesh.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/median.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string bits_of(const RunBaseline& run) {
  if (run.parameters.empty()) return "";
  std::string lines;
  for (const auto& [name, digest] : run.parameters) lines += name + " " + digest + "\n";
  return hash_hex(lines);
}

std::optional<std::int64_t> sum_of(const RunBaseline& run, std::initializer_list<const char*> columns) {
  std::optional<std::int64_t> sum;
  for (const RankBytes& rank : run.ranks)
    for (const char* column : columns)
      if (const auto found = rank.bytes.find(column); found != rank.bytes.end()) sum = sum.value_or(0) + found->second;
  return sum;
}

/// What all rows of one sweep or bench share.
HistoryRow common_row(const Json& environment, const std::string& taken, const char* source, const std::string& sweep) {
  HistoryRow row;
  row.taken = taken;
  row.machine = machine_fingerprint(environment);
  row.machine_name = machine_name(environment);
  row.code_path = code_path_fingerprint(environment);
  row.commit = commit_of(environment);
  row.source = source;
  row.sweep = sweep;
  return row;
}

/// A bench computes nothing that is kept: its cells have speeds alone.
TakenHistory take_bench(const fs::path& folder) {
  const BenchResult result = read_bench_result(folder / "bench.json");
  TakenHistory taken;
  if (!result.quiet())
    taken.missing.push_back("speeds of bench " + result.name + ": the machine was not quiet (docs/bench.md)");
  for (const BenchCell& cell : result.cells) {
    HistoryRow row = common_row(result.machine, result.started, "bench", result.name);
    row.run = cell.id;
    row.asked = asked_digest(cell.request);
    row.verdict = "finished";
    if (result.quiet()) row.speed = SpeedRatio{cell.speed.median, cell.speed.low, cell.speed.high, result.rounds};
    taken.rows.push_back(std::move(row));
  }
  return taken;
}

class Taking {
 public:
  explicit Taking(const fs::path& sweep) : sweep_(sweep), verdict_(read_verdict(sweep / "verdict.json")) {
    const Json environment = verdict_.machine.is_object() ? verdict_.machine : Json::object();
    common_ = common_row(environment, verdict_.started, "sweep", verdict_.name);
    if (common_.taken.empty()) throw InputError((sweep / "verdict.json").string() + ": says no time at which it began");
  }

  TakenHistory take() {
    for (const ReferenceVerdict& reference : verdict_.references) {
      const bool well = reference.finished && std::ranges::none_of(reference.checks, stands_in_the_way);
      const fs::path record = sweep_ / "references" / reference.id;
      add(reference.id, record, reference.request,
          reference.finished ? (well ? "finished" : "does not hold") : "not finished");
      if (reference.finished) seconds_[reference.id] = median_seconds(record);
    }
    for (const CellVerdict& cell : verdict_.cells) {
      const fs::path record = sweep_ / "cells" / cell.id;
      HistoryRow& row = add(cell.id, record, cell.request, cell.holds ? "holds" : "does not hold");
      const auto alone = seconds_[cell.reference], own = median_seconds(record);
      if (alone && own) row.speed = SpeedRatio{*alone / *own, std::nullopt, std::nullopt, 1};
    }
    return std::move(taken_);
  }

 private:
  HistoryRow& add(const std::string& run, const fs::path& record, const Json& request, const std::string& verdict) {
    HistoryRow row = common_;
    row.run = run;
    row.asked = asked_digest(request);
    row.verdict = verdict;
    try {
      const RunBaseline took = take_run(record, run);
      row.bits = bits_of(took);
      row.state_bytes = sum_of(took, {"parameter_bytes", "gradient_bytes", "optimizer_bytes"});
      row.activation_bytes = sum_of(took, {"activation_peak_bytes"});
      row.sent_bytes = sum_of(took, {"sent_bytes"});
    } catch (const InputError& error) {
      taken_.missing.push_back(run + ": " + error.what());
    }
    return taken_.rows.emplace_back(std::move(row));
  }

  /// Of a run whose record tells none, nothing: what is wrong with it was said when it was read whole.
  static std::optional<double> median_seconds(const fs::path& record) {
    try {
      return median_of(step_seconds(record_of_replica(record, {})));
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  const fs::path& sweep_;
  Verdict verdict_;
  HistoryRow common_;
  std::map<std::string, std::optional<double>> seconds_;
  TakenHistory taken_;
};

}  // namespace

TakenHistory take_history(const fs::path& sweep) {
  const bool only_bench = path_exists(sweep / "bench.json") && !path_exists(sweep / "verdict.json");
  return only_bench ? take_bench(sweep) : Taking(sweep).take();
}

}  // namespace plumbline
