// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/record_check.hpp"

#include "record/record.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr const char* schema = "plumbline-record-check/1";
/// Further findings are mostly consequences; --json has them all.
constexpr std::size_t most_shown = 20;

Json number_or_null(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json to_json(const Finding& finding) {
  return {{"place", finding.level},
          {"file", finding.source},
          {"step", finding.step},
          {"rank", number_or_null(finding.rank)},
          {"stage", number_or_null(finding.stage)},
          {"microbatch", number_or_null(finding.microbatch)},
          {"item", finding.item},
          {"expected", finding.expected},
          {"got", finding.got},
          {"why", finding.why}};
}

}  // namespace

RecordCheck check_record(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    throw InputError(path.string() + ": is not a folder; give the folder that contains manifest.json");
  }
  return {path, read_manifest(path), predicates::judge_alone(path)};
}

std::string to_text(const RecordCheck& check) {
  const Manifest& manifest = check.manifest;
  std::string text = check.path.string() + ": " + manifest.role + ", level " + to_text(manifest.level) + ", " +
                     manifest.dtype + ", " + check.optimizer() + ", " + quantity(manifest.world_size, "rank") + ", " +
                     quantity(check.steps(), "step") + "\n";
  text += "structure: as docs/record-format.md says\n";
  const auto& [findings, judged, not_judged] = check.report;
  std::vector<std::string> counts;
  for (const auto& [what, number] : judged) counts.push_back(std::to_string(number) + " " + what);
  text += "audit: " + (counts.empty() ? "nothing" : join(counts, ", ")) + " recomputed, " +
          quantity(std::ssize(findings), "finding") + "\n";
  for (std::size_t i = 0; i < findings.size() && i < most_shown; ++i) text += "  " + words_of(findings[i]) + "\n";
  if (findings.size() > most_shown)
    text += "  and " + std::to_string(findings.size() - most_shown) + " more (--json lists them all)\n";
  for (const auto& what : not_judged) text += "  not recomputed: " + what + "\n";
  return text + (check.holds() ? "HOLDS" : "DOES NOT HOLD") + "\n";
}

Json to_json(const RecordCheck& check) {
  Json findings = Json::array();
  for (const auto& finding : check.report.findings) findings.push_back(to_json(finding));
  return {{"schema", schema},
          {"path", check.path.string()},
          {"run_id", check.manifest.run_id},
          {"role", check.manifest.role},
          {"level", to_text(check.manifest.level)},
          {"dtype", check.manifest.dtype},
          {"optimizer", check.optimizer()},
          {"world_size", check.manifest.world_size},
          {"steps", check.steps()},
          {"holds", check.holds()},
          {"audit",
           {{"recomputed", check.report.judged}, {"findings", findings}, {"not_audited", check.report.not_judged}}}};
}

}  // namespace plumbline
