// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/calibrated_mode.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/judge/comparability.hpp"
#include "harness/judge/limits/calibration_file.hpp"
#include "support/error.hpp"
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
    throw InputError(
        fmt::format("{}: its float64 reference's record is not at {}; keep the folder that `plumbline calibrate` wrote",
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
        fmt::format("{}: is the calibration of another run: {}. Make one of this run with `plumbline calibrate`",
                    file_.string(), join(differences_, "; ")));
  }
  if (candidate_.manifest.level != RecordLevel::dump) {
    throw InputError(
        fmt::format("{}: has level {}, but errors can only be measured on dumped values; run it with candidate.toml, "
                    "which is in the calibration's folder, or with level = \"dump\" under [record]",
                    candidate_.path.string(), to_text(candidate_.manifest.level)));
  }
}

}  // namespace plumbline::judging
