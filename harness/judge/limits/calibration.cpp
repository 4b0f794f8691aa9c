// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/calibration.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "harness/judge/comparability.hpp"
#include "record/json_keys.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace plumbline::judging {

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
