#include "harness/judge/comparability.hpp"
#include "harness/judge/judge_records.hpp"
#include "harness/judge/limits/calibration_file.hpp"
#include "harness/judge/limits/within_limits.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// The shadow's record that the calibration names, if all fits together.
Record shadow_of(const Calibration& calibration, const std::filesystem::path& file, const Record& reference,
                 const Record& candidate) {
  if (!std::filesystem::is_directory(calibration.shadow)) {
    throw InputError(file.string() + ": its shadow's record is not at " + calibration.shadow.string() +
                     "; keep the folder that `plumbline calibrate` wrote together");
  }
  Record shadow = read_record(calibration.shadow);
  if (shadow.manifest.run_id != calibration.shadow_run_id || shadow.manifest.level != RecordLevel::dump) {
    throw InputError(calibration.shadow.string() + ": is not the shadow that " + file.string() + " was made with");
  }
  const auto differences = why_not_calibrated(shadow, reference);
  if (!differences.empty()) {
    throw InputError(file.string() + ": is the calibration of another run: " + join(differences, "; ") +
                     ". Make one of this run with `plumbline calibrate`");
  }
  if (candidate.manifest.level != RecordLevel::dump) {
    throw InputError(candidate.path.string() + ": has level " + to_text(candidate.manifest.level) +
                     ", and an error can only be measured of values that were dumped; run it with candidate.toml, "
                     "which lies beside the calibration, or with level = \"dump\" under [record]");
  }
  return shadow;
}

}  // namespace

CellVerdict judge_in_tier(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate,
                          const RecordReading* repeated) {
  // A record that cannot be read is completion's to tell.
  if (!plan.calibration || !reference.record || !candidate.record) {
    return judge_records(plan, reference, candidate, repeated);
  }
  const Calibration calibration = read_calibration(*plan.calibration);
  const Record shadow = shadow_of(calibration, *plan.calibration, *reference.record, *candidate.record);
  WithinLimits limits(calibration, shadow, *candidate.record);
  return judge_records(plan, reference, candidate, repeated, &limits);
}

}  // namespace plumbline::judging
