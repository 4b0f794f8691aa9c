// What it ran on and what it ran over: everything that could explain other bits elsewhere.
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  return json_text(value);
}

PageData entry(const std::string& key, const Json& value) {
  PageData data;
  data.set("key", page_text(key));
  data.set("value", page_text(value_text(value)));
  return data;
}

PageData block(const std::string& name, const PageData& entries) {
  PageData data;
  data.set("name", page_text(name));
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
    PageData entries = page_list();
    for (const auto& [key, inner] : value.items()) entries.push_back(entry(key, inner));
    if (!value.empty()) blocks.push_back(block(name, entries));
  }
  if (plain.is_non_empty_list()) blocks.push_back(block("general", plain));
  return blocks;
}

PageData reference_row(const std::string& id, const Manifest& manifest) {
  PageData row;
  row.set("id", page_text(id));
  row.set("dtype", page_text(manifest.dtype));
  row.set("seed", std::to_string(manifest.seed));
  row.set("steps", grouped(manifest.steps));
  row.set("microbatches", grouped(manifest.microbatches));
  row.set("digest", page_text(manifest.data_digest));
  const Json source = manifest.json.contains("data") && manifest.json["data"].is_object()
                          ? manifest.json["data"].value("source", Json())
                          : Json();
  row.set("source", page_text(value_text(source)));
  return row;
}

}  // namespace

void fill_machine(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData references = page_list();
  for (const auto& [id, run] : evidence.references) references.push_back(reference_row(id, run.manifest));
  page.set("machine", machine_blocks(verdict.machine));
  page.set("has_references", PageData(!evidence.references.empty()));
  page.set("references", references);
  page.set("has_missing", PageData(!evidence.missing.empty()));
  page.set("missing", page_texts(evidence.missing));
}

}  // namespace plumbline
