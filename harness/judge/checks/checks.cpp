#include "harness/judge/checks/checks.hpp"

#include "harness/judge/rules.hpp"

namespace plumbline::judging {

std::string why_not_recorded(const CellEvidence& evidence, const std::string& check) {
  return why_not_recorded(rule_of(check), evidence.reference.manifest, evidence.candidate.manifest, true);
}

std::string value_limit(const CellEvidence& evidence) {
  return evidence.values->demand();
}

std::string agreement(const CellEvidence& evidence) {
  return evidence.values->agreement();
}

}  // namespace plumbline::judging
