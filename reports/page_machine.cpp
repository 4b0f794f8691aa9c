// SPDX-License-Identifier: BSD-3-Clause
// Machine and data: everything that could explain different bits elsewhere.
#include <algorithm>
#include <vector>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

std::string value_text(const Json& value) {
  return value.is_null() || value == "" ? "-" : unquoted(value);
}

PageData entry(const std::string& key, const Json& value) {
  return page_row({{"key", key}, {"value", value_text(value)}});
}

PageData entries_of(const Json& values) {
  PageData entries = page_list();
  for (const auto& [key, value] : values.items()) entries.push_back(entry(key, value));
  return entries;
}

PageData block(const std::string& name, const PageData& entries) {
  PageData data = page_row({{"name", name}});
  data.set("entries", entries);
  return data;
}

/// One block for each object below the top, one for the plain values at the top.
PageData machine_blocks(const Json& machine) {
  PageData blocks = page_list(), plain = page_list();
  if (!machine.is_object()) return blocks;
  for (const auto& [name, value] : machine.items()) {
    if (!value.is_object()) {
      plain.push_back(entry(name, value));
      continue;
    }
    if (!value.empty()) blocks.push_back(block(name, entries_of(value)));
  }
  if (plain.is_non_empty_list()) blocks.push_back(block("general", plain));
  return blocks;
}

/// The judge's own version, and the versions that the pipelines ran with: each once.
void add_versions(PageData& blocks, const Verdict& verdict) {
  if (verdict.harness.is_object() && !verdict.harness.empty())
    blocks.push_back(block("this judge", entries_of(verdict.harness)));
  std::vector<Json> shown;
  for (const auto& cell : verdict.cells) {
    if (!cell.versions.is_object() || cell.versions.empty()) continue;
    if (std::find(shown.begin(), shown.end(), cell.versions) != shown.end()) continue;
    shown.push_back(cell.versions);
    blocks.push_back(
        block(shown.size() == 1 ? "the pipeline" : "the pipeline, in other cases", entries_of(cell.versions)));
  }
}

PageData reference_row(const std::string& id, const Manifest& manifest) {
  const Json source = manifest.json.contains("data") && manifest.json["data"].is_object()
                          ? manifest.json["data"].value("source", Json())
                          : Json();
  return page_row({{"id", id},
                   {"dtype", manifest.dtype},
                   {"seed", std::to_string(manifest.seed)},
                   {"steps", grouped(manifest.steps - manifest.first_step)},
                   {"microbatches", grouped(manifest.microbatches)},
                   {"digest", without_digests(manifest.data_digest)},
                   {"source", value_text(source)}});
}

}  // namespace

void fill_machine(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData references = page_list();
  for (const auto& [id, run] : evidence.references) references.push_back(reference_row(id, run.manifest));
  PageData blocks = machine_blocks(verdict.machine);
  add_versions(blocks, verdict);
  page.set("machine", blocks);
  set_list(page, "references", references);
  set_list(page, "missing", page_texts(evidence.missing));
}

}  // namespace plumbline
