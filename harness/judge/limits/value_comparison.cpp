// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/value_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/judge/comparability.hpp"
#include "harness/judge/limits/limits.hpp"
#include "record/digest.hpp"
#include "record/json_keys.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

ComparedValue digests(const std::string& reference, const std::string& candidate) {
  if (candidate == reference) return {};
  return {ValueDifference{reference, candidate, "the bits differ"}};
}

class InBits : public ValueComparison {
 public:
  std::string demand() const override { return "0 ULP"; }
  std::string agreement() const override { return "the same bits"; }
  bool exact() const override { return true; }

  ComparedValue loss(const Item&, float reference, float candidate) override {
    if (same_bits(reference, candidate)) return {};
    return {ValueDifference{to_text(reference), to_text(candidate), ""}};
  }
  ComparedValue gradient_norm(std::int64_t, double reference, double candidate) override {
    if (same_bits(reference, candidate)) return {};
    return {ValueDifference{to_text(reference), to_text(candidate),
                            std::isfinite(candidate) ? "ratio " + to_text(candidate / reference) : "not finite"}};
  }
  ComparedValue tensor(std::int64_t, const TensorRow& reference, const TensorRow& candidate) override {
    return digests(reference.digest, candidate.digest);
  }
  ComparedValue boundary(std::int64_t, const BoundaryRow& reference, const BoundaryRow& candidate) override {
    return digests(reference.digest, candidate.digest);
  }
};

}  // namespace

double Measured::margin() const {
  if (limit > 0 || std::isnan(error)) return error / limit;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

std::string Measured::words() const {
  return fmt::format("{} is {} off, margin {} of its limit {}", item, short_text(error), short_text(margin()),
                     limit_words);
}

ValueComparison& in_bits() {
  static InBits comparison;
  return comparison;
}

namespace {

ComparedValue outcome(Measured measured, const std::string& got) {
  ComparedValue compared;
  if (!measured.holds()) {
    compared.difference =
        ValueDifference{fmt::format("at most {} off the float64 reference", short_text(measured.limit)), got,
                        "outside its limit, margin " + short_text(measured.margin())};
  }
  compared.measured = std::move(measured);
  return compared;
}

/// The difference of a tensor, which does not have a single value to show.
ComparedValue outcome(const Measured& measured) {
  return outcome(measured, short_text(measured.error));
}

}  // namespace

ComparedValue WithinLimits::tensor(std::int64_t rank, const TensorRow&, const TensorRow& candidate) {
  const std::string key = fmt::format("{}/{}", candidate.kind, candidate.name);
  return outcome(compare(rank, candidate.step, key, key, key, candidate.digest));
}

ComparedValue WithinLimits::boundary(std::int64_t rank, const BoundaryRow&, const BoundaryRow& candidate) {
  const std::string item = boundary_item(candidate.direction, candidate.microbatch, candidate.cut);
  return outcome(compare(rank, candidate.step, item, fmt::format("{}/{}", item, candidate.side), item + "/computed",
                         candidate.digest));
}

ComparedValue WithinLimits::loss(const Item& item, float, float candidate) {
  return compare(item, static_cast<double>(candidate), to_text(candidate));
}

ComparedValue WithinLimits::gradient_norm(std::int64_t step, double, double candidate) {
  return compare({step, "gradient_norm"}, candidate, to_text(candidate));
}

ComparedValue WithinLimits::compare(const Item& item, double candidate, const std::string& got) {
  if (scalars_.empty()) scalars_ = scalars_of(shadow_.ranks.at(0));
  const auto truth = scalars_.find(item);
  if (truth == scalars_.end())
    throw CalibrationError(fmt::format("{}: lacks {} at step {}", shadow_.path.string(), item.name, item.step));
  return outcome(measured(item, relative_error(candidate, truth->second)), got);
}

std::string WithinLimits::demand() const {
  return fmt::format(
      "calibrated: relative error against the float64 reference, at most {} x the largest of the reference and {} "
      "perturbed references, never above {}",
      short_text(calibration_.factor), calibration_.null_runs, short_text(limit_ceiling));
}

double loosest_loss(const Calibration& calibration) {
  double loosest = 0;
  for (const auto& [item, limit] : calibration.limits) {
    if (item.name == "loss" || item.name.starts_with("loss/")) loosest = std::max(loosest, limit.limit);
  }
  return loosest;
}

const SafetensorsFile& WithinLimits::dump(const Record& record, std::int64_t rank, std::int64_t step) {
  const auto path = record.path / rank_folder(rank) / "dumps" / dump_file_name(step);
  const std::pair key{path, step};
  const auto found = dumps_.find(key);
  return found != dumps_.end() ? found->second : dumps_.emplace(key, SafetensorsFile(path)).first->second;
}

const SafetensorsEntry& WithinLimits::truth(std::int64_t step, const std::string& key) try {
  const SafetensorsEntry& entry = dump(shadow_, 0, step).at(key);
  const std::string digest = tensor_digest(entry.dtype, entry.shape, entry.bytes);
  const RankRecord& rows = shadow_.ranks.at(0);
  const bool known =
      std::ranges::any_of(rows.tensors,
                          [&](const TensorRow& row) {
                            return row.digest == digest && row.step == step && row.kind + "/" + row.name == key;
                          }) ||
      std::ranges::any_of(rows.boundaries, [&](const BoundaryRow& row) {
        return row.digest == digest && row.step == step &&
               boundary_item(row.direction, row.microbatch, row.cut) + "/" + row.side == key;
      });
  if (known) return entry;
  throw InputError(
      fmt::format("{}: the dump of {} at step {} is not the tensor of its table", shadow_.path.string(), key, step));
} catch (const InputError& error) {
  throw CalibrationError(error.what());
}

Measured WithinLimits::compare(std::int64_t rank, std::int64_t step, const std::string& item, const std::string& key,
                               const std::string& shadow_key, const std::string& digest) {
  const SafetensorsEntry& got = dump(candidate_, rank, step).at(key);
  if (tensor_digest(got.dtype, got.shape, got.bytes) != digest) {
    throw RunError(fmt::format(
        "the candidate's dump of {} at step {} on rank {} is not the tensor of its table: the digests differ", key,
        step, rank));
  }
  return measured({step, item}, relative_error(got, truth(step, shadow_key)));
}

Measured WithinLimits::measured(const Item& item, double error) const {
  const std::string name = fmt::format("{} at step {}", item.name, item.step);
  const auto found = calibration_.limits.find(item);
  if (found == calibration_.limits.end()) throw RunError("the calibration lacks a limit for " + name);
  return {name, error, found->second.limit, plumbline::judging::limit_words(calibration_, found->second)};
}

CalibratedTier::CalibratedTier(std::filesystem::path calibration_file, const Record& reference, const Record& candidate)
    : file_(std::move(calibration_file)), reference_(reference), candidate_(candidate) {
  try {
    open();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void CalibratedTier::open() {
  calibration_ = read_calibration(file_);
  if (!std::filesystem::is_directory(calibration_.shadow)) {
    throw InputError(fmt::format(
        "{}: the record of its float64 reference is not at {}; keep the folder that `plumbline calibrate` wrote",
        file_.string(), calibration_.shadow.string()));
  }
  shadow_.emplace(calibration_.shadow);
  const Manifest& manifest = shadow_->record().manifest;
  if (manifest.run_id != calibration_.shadow_run_id || manifest.level != RecordLevel::dump) {
    throw InputError(fmt::format("{}: is not the float64 reference that {} was made with", calibration_.shadow.string(),
                                 file_.string()));
  }
  differences_ = why_not_calibrated(manifest, reference_.manifest);
  limits_.emplace(calibration_, shadow_->record(), candidate_);
}

void CalibratedTier::go_to(std::int64_t step) {
  if (failure_) return;
  try {
    shadow_->go_to(step);
    limits_->forget_step();
    const auto rates = why_other_rates(shadow_->record(), reference_);
    differences_.insert(differences_.end(), rates.begin(), rates.end());
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void CalibratedTier::refuse_unfit() const {
  if (failure_) std::rethrow_exception(failure_);
  if (!differences_.empty()) {
    throw InputError(
        fmt::format("{}: is the calibration of another run: {}. Calibrate this run with `plumbline calibrate`",
                    file_.string(), join(differences_, "; ")));
  }
  if (candidate_.manifest.level != RecordLevel::dump) {
    throw InputError(
        fmt::format("{}: has level {}, but errors can only be measured on dumped values; run it with candidate.toml, "
                    "which is in the calibration's folder, or with level = \"dump\" under [record]",
                    candidate_.path.string(), to_text(candidate_.manifest.level)));
  }
}

namespace {

namespace fs = std::filesystem;

constexpr const char* capped_schema = "plumbline-calibration/1";

constexpr std::array<std::pair<LimitBy, const char*>, 4> reasons = {{{LimitBy::null_runs, "null_runs"},
                                                                     {LimitBy::rounding, "rounding"},
                                                                     {LimitBy::ceiling, "ceiling"},
                                                                     {LimitBy::zero, "zero"}}};

const char* name_of(LimitBy by) {
  for (const auto& [value, text] : reasons) {
    if (value == by) return text;
  }
  return "";
}

LimitBy parse_reason(const JsonKeys& keys) {
  const std::string word = keys.word("by", {"null_runs", "rounding", "ceiling", "zero"});
  for (const auto& [value, text] : reasons) {
    if (word == text) return value;
  }
  keys.fail("by", "unknown");
}

double amount(const JsonKeys& keys, const char* key) {
  const double value = keys.number(key);
  if (!(value >= 0 && std::isfinite(value))) keys.fail(key, "is not a number of 0 or more");
  return value;
}

Limit parse_limit(const JsonKeys& keys) {
  Limit limit;
  limit.own = amount(keys, "own");
  limit.null_most = amount(keys, "null");
  limit.pooled = amount(keys, "pooled");
  limit.limit = amount(keys, "limit");
  limit.by = parse_reason(keys);
  return limit;
}

}  // namespace

void write_calibration(const fs::path& path, const Calibration& calibration) {
  Json limits = Json::array();
  for (const auto& [item, limit] : calibration.limits) {
    limits.push_back({{"step", item.step},
                      {"item", item.name},
                      {"own", limit.own},
                      {"null", limit.null_most},
                      {"pooled", limit.pooled},
                      {"limit", limit.limit},
                      {"by", name_of(limit.by)}});
  }
  const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
  const fs::path shadow = fs::absolute(calibration.shadow).lexically_normal().lexically_relative(folder);
  write_json(path, {{"schema", calibration_schema},
                    {"dtype", calibration.dtype},
                    {"reference", calibration.reference_run_id},
                    {"shadow", {{"run_id", calibration.shadow_run_id}, {"record", shadow.generic_string()}}},
                    {"null_runs", calibration.null_runs},
                    {"left_out", calibration.left_out},
                    {"factor", calibration.factor},
                    {"limits", std::move(limits)}});
}

Calibration read_calibration(const fs::path& path) {
  const Json json = read_json(path);
  const JsonKeys keys(path, json);
  if (keys.text("schema") == capped_schema) {
    keys.fail("schema",
              fmt::format("is {}, which has a cap for each limit; calibrate again: `plumbline calibrate` writes {}",
                          capped_schema, calibration_schema));
  }
  if (keys.text("schema") != calibration_schema) {
    keys.fail("schema", fmt::format("is {}, not {}; give the calibration.json that `plumbline calibrate` wrote",
                                    keys.text("schema"), calibration_schema));
  }
  Calibration calibration;
  calibration.dtype = keys.word("dtype", {"float32", "bfloat16"});
  calibration.reference_run_id = keys.text("reference");
  calibration.shadow_run_id = keys.object("shadow").text("run_id");
  calibration.shadow = path.parent_path() / keys.object("shadow").text("record");
  calibration.null_runs = keys.integer("null_runs", static_cast<std::int64_t>(least_null_runs));
  calibration.left_out = amount(keys, "left_out");
  calibration.factor = amount(keys, "factor");
  for (const JsonKeys& each : keys.objects("limits")) {
    const Item item{each.integer("step", 0), each.text("item")};
    if (!calibration.limits.emplace(item, parse_limit(each)).second) each.fail("item", "is given twice");
  }
  if (calibration.limits.empty()) keys.fail("limits", "is empty: nothing would be compared");
  if (const auto changed = why_not_its_own(calibration); !changed.empty()) {
    keys.fail(
        "limits",
        fmt::format(
            "does not follow from its numbers: {}. It was edited or damaged; calibrate again (--resume keeps its runs)",
            changed));
  }
  return calibration;
}

}  // namespace plumbline::judging
