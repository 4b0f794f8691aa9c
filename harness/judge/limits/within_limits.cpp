#include "harness/judge/limits/within_limits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/limits/relative_error.hpp"
#include "record/digest.hpp"
#include "support/error.hpp"

namespace plumbline::judging {

double Measured::margin() const {
  if (limit > 0 || std::isnan(error)) return error / limit;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

std::string Measured::words() const {
  return item + " is " + short_text(error) + " off, margin " + short_text(margin()) + " of its limit " + limit_words;
}

Measured WithinLimits::tensor(std::int64_t rank, const TensorRow& row) {
  const std::string key = row.kind + "/" + row.name;
  return compare(rank, row.step, key, key, key, row.digest);
}

Measured WithinLimits::boundary(std::int64_t rank, const BoundaryRow& row) {
  const std::string item = boundary_item(row.direction, row.microbatch, row.cut);
  return compare(rank, row.step, item, item + "/" + row.side, item + "/computed", row.digest);
}

Measured WithinLimits::loss(std::int64_t step, std::optional<std::int64_t> microbatch, double value) const {
  const std::string item = microbatch ? loss_item(*microbatch) : "loss";
  const RankRecord& truth = shadow_.ranks.at(0);
  if (!microbatch) {
    for (const StepRow& row : truth.steps) {
      if (row.step == step && row.loss) {
        return measured({step, item}, relative_error(value, static_cast<double>(*row.loss)));
      }
    }
  }
  for (const MicrobatchRow& row : truth.microbatches) {
    if (row.step == step && row.microbatch == microbatch && row.loss) {
      return measured({step, item}, relative_error(value, static_cast<double>(*row.loss)));
    }
  }
  throw InputError(shadow_.path.string() + ": the shadow holds no " + item + " at step " + std::to_string(step));
}

Measured WithinLimits::gradient_norm(std::int64_t step, double value) const {
  for (const StepRow& row : shadow_.ranks.at(0).steps) {
    if (row.step == step && row.gradient_norm) {
      return measured({step, "gradient_norm"}, relative_error(value, *row.gradient_norm));
    }
  }
  throw InputError(shadow_.path.string() + ": the shadow holds no gradient norm of step " + std::to_string(step));
}

double loosest_loss(const Calibration& calibration) {
  double loosest = 0;
  for (const auto& [item, limit] : calibration.limits) {
    if (item.name == "loss" || item.name.starts_with("loss/")) loosest = std::max(loosest, limit.limit);
  }
  return loosest;
}

const SafetensorsFile& WithinLimits::dump(const Record& record, std::int64_t rank, std::int64_t step) {
  const auto path =
      record.path / ("rank-" + std::to_string(rank)) / "dumps" / ("step-" + std::to_string(step) + ".safetensors");
  const std::pair key{path, step};
  const auto found = dumps_.find(key);
  return found != dumps_.end() ? found->second : dumps_.emplace(key, SafetensorsFile(path)).first->second;
}

Measured WithinLimits::compare(std::int64_t rank, std::int64_t step, const std::string& item, const std::string& key,
                               const std::string& shadow_key, const std::string& digest) {
  const SafetensorsEntry& got = dump(candidate_, rank, step).at(key);
  if (tensor_digest(got.dtype, got.shape, got.bytes) != digest) {
    throw RunError("the candidate's dump of " + key + " at step " + std::to_string(step) + " on rank " +
                   std::to_string(rank) + " is not the tensor of its table: the digests differ");
  }
  return measured({step, item}, relative_error(got, dump(shadow_, 0, step).at(shadow_key)));
}

Measured WithinLimits::measured(const Item& item, double error) const {
  const std::string name = item.name + " at step " + std::to_string(item.step);
  const auto found = calibration_.limits.find(item);
  if (found == calibration_.limits.end()) throw RunError("the calibration has no limit for " + name);
  return {name, error, found->second.limit, plumbline::judging::limit_words(calibration_, found->second)};
}

std::string tier_words(const Calibration& calibration) {
  return "calibrated: relative error against the float64 shadow, at most " + short_text(calibration.factor) +
         " x the largest of the reference and " + std::to_string(calibration.null_runs) +
         " perturbed references, never above " + short_text(cap_lambda) + " sqrt(n) u";
}

}  // namespace plumbline::judging
