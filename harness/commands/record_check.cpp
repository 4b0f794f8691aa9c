// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/record_check.hpp"

#include "harness/judge/audit/power.hpp"
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

std::string power_text(const std::map<std::string, auditing::Power>& kinds) {
  std::string text =
      "  Coverage: of the elements of each kind of parameter, in all steps, those in which a\n"
      "  mistake of the optimiser's step is detected.\n";
  for (const auto& [kind, power] : kinds) {
    std::vector<std::string> parts;
    for (const auto& [mistake, tells] : power.tells) parts.push_back(mistake + " " + std::to_string(tells));
    text += "    " + kind + " (" + std::to_string(power.elements) + "): " + join(parts, ", ") + "\n";
  }
  return text;
}

}  // namespace

RecordCheck check_record(const std::filesystem::path& path, const auditing::AuditOptions& options) {
  if (!std::filesystem::is_directory(path)) {
    throw InputError(path.string() + ": is not a folder; give the folder that holds manifest.json");
  }
  return {path, read_manifest(path), auditing::audit_record(path, options)};
}

std::string to_text(const RecordCheck& check) {
  const Manifest& manifest = check.manifest;
  std::string text = check.path.string() + ": " + manifest.role + ", level " + to_text(manifest.level) + ", " +
                     manifest.dtype + ", " + check.optimizer() + ", " + quantity(manifest.world_size, "rank") + ", " +
                     quantity(check.steps(), "step") + "\n";
  text += "structure: as docs/record-format.md says\n";
  const auto& audit = check.audit;
  std::vector<std::string> counts;
  for (const auto& [what, number] : audit.recomputed) counts.push_back(std::to_string(number) + " " + what);
  text += std::string("audit, from ") + (audit.from_values ? "tables and dumped values" : "tables only") + ": " +
          (counts.empty() ? "nothing" : join(counts, ", ")) + " recomputed, " + std::to_string(audit.findings.size()) +
          " findings\n";
  for (std::size_t i = 0; i < audit.findings.size() && i < most_shown; ++i) {
    text += "  " + words_of(audit.findings[i]) + "\n";
  }
  if (audit.findings.size() > most_shown) {
    text += "  and " + std::to_string(audit.findings.size() - most_shown) + " more (--json lists them all)\n";
  }
  for (const auto& what : audit.not_audited) text += "  not recomputed: " + what + "\n";
  for (const auto& what : auditing::what_it_cannot_see(audit)) text += "  not covered here: " + what + "\n";
  if (!audit.power.empty()) text += power_text(audit.power);
  return text + (check.holds() ? "HOLDS" : "DOES NOT HOLD") + "\n";
}

Json to_json(const RecordCheck& check) {
  Json findings = Json::array(), power = Json::object();
  for (const auto& finding : check.audit.findings) findings.push_back(to_json(finding));
  for (const auto& [kind, of_kind] : check.audit.power) {
    power[kind] = {{"elements", of_kind.elements}, {"tells", of_kind.tells}};
  }
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
           {{"from_values", check.audit.from_values},
            {"recomputed", check.audit.recomputed},
            {"findings", findings},
            {"not_audited", check.audit.not_audited},
            {"cannot_see", auditing::what_it_cannot_see(check.audit)},
            {"power", power}}}};
}

}  // namespace plumbline
