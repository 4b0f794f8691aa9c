// SPDX-License-Identifier: BSD-3-Clause
#include "record/value_findings.hpp"

#include "support/text.hpp"

namespace plumbline {

Json to_json(const ValueFindings& findings) {
  Json json = {{"step", findings.step},         {"tensor", findings.tensor},
               {"ulps", Json::array()},         {"not_numbers", findings.not_numbers},
               {"fingerprints", Json::array()}, {"otherwise", findings.otherwise}};
  for (const UlpBucket& bucket : findings.ulps)
    json["ulps"].push_back({{"from", bucket.from}, {"to", bucket.to}, {"elements", bucket.elements}});
  for (const Fingerprint& found : findings.fingerprints) {
    json["fingerprints"].push_back(
        {{"name", found.name}, {"words", found.words}, {"evidence", found.evidence}, {"suggests", found.suggests}});
  }
  return json;
}

ValueFindings value_findings_from(const Json& json) {
  ValueFindings findings;
  json.at("step").get_to(findings.step);
  json.at("tensor").get_to(findings.tensor);
  for (const Json& bucket : json.at("ulps")) {
    findings.ulps.push_back({bucket.at("from").get<std::int64_t>(), bucket.at("to").get<std::int64_t>(),
                             bucket.at("elements").get<std::int64_t>()});
  }
  json.at("not_numbers").get_to(findings.not_numbers);
  for (const Json& found : json.at("fingerprints")) {
    findings.fingerprints.push_back({found.at("name").get<std::string>(), found.at("words").get<std::string>(),
                                     found.at("evidence").get<std::string>(), found.at("suggests").get<std::string>()});
  }
  json.at("otherwise").get_to(findings.otherwise);
  return findings;
}

std::string to_text(const ValueFindings& findings) {
  if (findings.fingerprints.empty()) return findings.otherwise;
  std::vector<std::string> parts;
  for (const Fingerprint& found : findings.fingerprints)
    parts.push_back(found.words + " (" + found.evidence + "): " + found.suggests);
  return join(parts, "; or: ");
}

}  // namespace plumbline
