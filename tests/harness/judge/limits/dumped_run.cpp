// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/limits/dumped_run.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "harness/judge/expected/model.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/digest.hpp"
#include "record/rank_folder.hpp"
#include "support/hash.hpp"
#include "support/safetensors.hpp"

namespace plumbline::testing {
namespace {

struct Values {
  std::string key, dtype;
  Shape shape;
  std::vector<std::byte> bytes;
};

template <typename Number>
void put(std::vector<std::byte>& bytes, Number number) {
  const auto at = bytes.size();
  bytes.resize(at + sizeof number);
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

class Valuer {
 public:
  explicit Valuer(const DumpedRun& dumped) : dumped_(dumped) {}

  /// `truth`: the key of the true values.
  Values values(std::int64_t step, const std::string& key, const std::string& truth, const Shape& shape) const {
    Values made{key, dumped_.shadow ? "float64" : "float32", shape, {}};
    const auto other = dumped_.other_ulps.find({step, key});
    const int ulps = other == dumped_.other_ulps.end() ? dumped_.ulps : other->second;
    const std::uint64_t seed = hash64(std::to_string(step) + truth);
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      const auto part = static_cast<float>((seed + static_cast<std::uint64_t>(i) * 7919) % 1000) / 1024;
      float value = 1 + part + static_cast<float>(ulps) * 0x1p-23F;  // exact: 1 to 2 in steps of 2^-23
      if (i == 0 && dumped_.with_nan.contains({step, key})) value = std::numeric_limits<float>::quiet_NaN();
      if (dumped_.shadow) {
        put(made.bytes, static_cast<double>(value));
      } else {
        put(made.bytes, value);
      }
    }
    return made;
  }

  std::string digest(std::int64_t step, const Values& values) const {
    return dumped_.with_other_digest.contains({step, values.key})
               ? other_digest
               : tensor_digest(values.dtype, values.shape, values.bytes);
  }

 private:
  const DumpedRun& dumped_;
};

void write_dump(const std::filesystem::path& path, const std::vector<Values>& tensors) {
  std::vector<NamedBytes> named;
  for (const auto& each : tensors) named.push_back({each.key, {each.dtype, each.shape, each.bytes}});
  std::filesystem::create_directories(path.parent_path());
  write_safetensors(path, named);
}

}  // namespace

std::filesystem::path DumpedRun::write(const std::filesystem::path& folder) const {
  const Valuer valuer(*this);
  SyntheticRun written = run;
  written.manifest["level"] = written.manifest.at("level") == "full" ? "full" : "dump";
  if (shadow) written.manifest["dtype"] = "float64", written.manifest["shadow_of"] = "float32";
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Values>> dumps;
  const auto keep = [&](std::int64_t rank, std::int64_t step, Values values) {
    if (!not_dumped.contains({step, values.key})) dumps[{rank, step}].push_back(std::move(values));
  };
  for (RankRecord& rank : written.ranks) {
    for (TensorRow& row : rank.tensors) {
      if (shadow) row.dtype = "float64";
      const std::string name = row.name == "lm_head.weight" ? "model.embed_tokens.weight" : row.name;  // tied
      Values values = valuer.values(row.step, row.kind + "/" + row.name, row.kind + name, row.shape);
      if (row.step >= 0) row.digest = valuer.digest(row.step, values);  // all runs have the same start
      keep(rank.rank, row.step, std::move(values));
    }
    for (BoundaryRow& row : rank.boundaries) {
      if (shadow) row.dtype = "float64", row.bytes *= 2;
      const std::string name = judging::boundary_item(row.direction, row.microbatch, row.cut);
      Values values = valuer.values(row.step, name + "/" + row.side, name, row.shape);
      row.digest = valuer.digest(row.step, values);
      keep(rank.rank, row.step, std::move(values));
    }
  }
  write_run(written, folder);
  for (const auto& [where, tensors] : dumps) {
    const std::string step = where.second < 0 ? "initial" : std::to_string(where.second);
    write_dump(folder / rank_folder(where.first) / "dumps" / ("step-" + step + ".safetensors"), tensors);
  }
  return folder;
}

CalibratedCell::CalibratedCell() {
  const SyntheticPlan plan{.level = "dump"};
  runs_['r'] = {synthetic_reference(plan), 1};
  runs_['s'] = {synthetic_reference(plan), 0, true};
  runs_['c'] = {synthetic_candidate(plan), 2};
}

void CalibratedCell::change(const std::string& line) {
  std::istringstream words(line);
  std::string first, what, tensor;
  std::int64_t step = 0;
  int ulps = 0;
  words >> first >> what >> step >> tensor >> ulps;
  if (first == "unchanged") return;
  if (first == "later") return later_.push_back(line.substr(6));
  if (first == "calibration") return of_calibration_.push_back(line);
  if (first == "cuda") runs_['c'].run = synthetic_candidate({.level = "dump", .device = "cuda"});
  if (first == "cuda") return;
  DumpedRun& run = runs_.at(first.front());
  const DumpedRun::Key key(step, tensor);
  if (what == "ulps")
    run.other_ulps[key] = ulps;
  else if (what == "nan")
    run.with_nan.insert(key);
  else if (what == "digest")
    run.with_other_digest.insert(key);
  else if (what == "undumped")
    run.not_dumped.insert(key);
  else
    of_files_.push_back(line);
}

CellVerdict CalibratedCell::compare() {
  const std::map<char, std::filesystem::path> places = {
      {'c', folder / "candidate"}, {'r', folder / "reference"}, {'s', folder / "shadow"}};
  for (const auto& [name, run] : runs_) run.write(places.at(name));
  for (const std::string& line : of_files_) change_record(places.at(line.front()), line.substr(2));
  judging::Calibration calibration = calibration_of_itself(folder.path());
  for (const std::string& line : of_calibration_) {
    std::istringstream words(line);
    std::string what, item;
    std::int64_t step = 0;
    words >> what >> what >> step >> item;
    if (what == "of_another_run") calibration.shadow_run_id = "another";
    if (what == "elsewhere") calibration.shadow = folder / "nowhere";
    if (what == "without") calibration.limits.erase({step, item});
  }
  judging::write_calibration(folder / "calibration.json", calibration);
  for (const std::string& line : later_) change_record(places.at(line.front()), line.substr(2));
  return judge(folder / "calibration.json");
}

CellVerdict CalibratedCell::judge(const std::optional<std::filesystem::path>& calibration) const {
  CellPlan plan;
  plan.id = "calibrated";
  plan.world = static_cast<std::int64_t>(runs_.at('c').run.ranks.size());
  plan.checks = check_names();
  std::erase(plan.checks, "audit");
  plan.calibration = calibration;
  return judge_cell(plan, folder / "reference", folder / "candidate");
}

judging::Calibration calibration_of_itself(const std::filesystem::path& folder) {
  const Record one = read_record(folder / "reference"), truth = read_record(folder / "shadow");
  const auto own = judging::measure_errors(one, truth);
  judging::Calibration calibration =
      judging::make_calibration(own, std::vector(judging::least_null_runs, own), "float32");
  calibration.reference_run_id = one.manifest.run_id;
  calibration.shadow_run_id = truth.manifest.run_id;
  calibration.shadow = folder / "shadow";
  return calibration;
}

}  // namespace plumbline::testing
