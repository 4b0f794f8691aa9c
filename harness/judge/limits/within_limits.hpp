// The calibrated tier's measure of one value of a candidate: its error against the shadow, and the limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/judge/limits/limits.hpp"
#include "record/record.hpp"
#include "support/safetensors.hpp"

namespace plumbline::judging {

struct Measured {
  std::string item;  ///< "gradient/model.norm.weight at step 1"
  double error = 0;
  double limit = 0;
  std::string limit_words;

  /// error / limit: 0 where both are 0, infinity where only the limit is, NaN where the error is.
  double margin() const;
  /// False for a NaN.
  bool holds() const { return error <= limit; }
  std::string words() const;
};

/// Warned of from here on: a margin that harmless runs do not reach.
inline constexpr double warned_margin = 0.5;

/// Reads the dumps of both as it is asked, and the shadow's rows in hand, which are those of the step that is asked of.
/// Points into all three, which must outlive it. What cannot be measured (no
/// dump, no limit, a dump that is not the table's) is a RunError or an InputError that says so.
class WithinLimits {
 public:
  WithinLimits(const Calibration& calibration, const Record& shadow, const Record& candidate)
      : calibration_(calibration), shadow_(shadow), candidate_(candidate) {}

  Measured tensor(std::int64_t rank, const TensorRow& row);
  Measured boundary(std::int64_t rank, const BoundaryRow& row);
  Measured loss(std::int64_t step, std::optional<std::int64_t> microbatch, double value) const;
  Measured gradient_norm(std::int64_t step, double value) const;

  /// Lets go of the dumps of the steps before.
  void forget_dumps() { dumps_.clear(); }

  const Calibration& calibration() const { return calibration_; }

 private:
  const SafetensorsFile& dump(const Record& record, std::int64_t rank, std::int64_t step);
  Measured compare(std::int64_t rank, std::int64_t step, const std::string& item, const std::string& key,
                   const std::string& shadow_key, const std::string& digest);
  Measured measured(const Item& item, double error) const;

  const Calibration& calibration_;
  const Record &shadow_, &candidate_;
  std::map<std::pair<std::filesystem::path, std::int64_t>, SafetensorsFile> dumps_;
};

/// The largest limit of any loss.
double loosest_loss(const Calibration& calibration);

/// What all comparisons of values say of their limit in this tier.
std::string tier_words(const Calibration& calibration);

}  // namespace plumbline::judging
