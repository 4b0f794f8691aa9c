// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/compare_sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/commands/compare.hpp"
#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "reports/words.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// From key, "optimizer/learning_rate", to value.
using Values = std::map<std::string, std::string>;

/// Descends into objects; lists are values.
void flatten(const Json& value, const std::string& key, Values& values) {
  if (!value.is_object()) {
    values[key] = value.is_string() ? value.get<std::string>() : json_text(value);
    return;
  }
  for (const auto& [name, inner] : value.items()) flatten(inner, key.empty() ? name : key + "/" + name, values);
}

/// "steps: 5 before, 6 now" for each differing key. Folders of data files may differ.
std::vector<std::string> differences(Json before, Json now) {
  constexpr std::size_t longest = 60;
  Values one, other;
  for (const auto& [json, values] : {std::pair(&before, &one), std::pair(&now, &other)}) {
    if (json->is_object() && json->contains("data") && json->at("data").contains("files"))
      for (Json& file : json->at("data").at("files"))
        file["path"] = fs::path(file.value("path", std::string())).filename().string();
    flatten(*json, "", *values);
  }
  std::set<std::string> keys;
  for (const Values* values : {&one, &other})
    for (const auto& [key, value] : *values) keys.insert(key);
  std::vector<std::string> words;
  const auto shown = [&](const Values& values, const std::string& key) {
    const auto found = values.find(key);
    const std::string text = found == values.end() ? "absent" : found->second;
    return text.size() <= longest ? text : text.substr(0, longest) + "...";
  };
  for (const std::string& key : keys) {
    if (one.contains(key) && other.contains(key) && one.at(key) == other.at(key)) continue;
    words.push_back(fmt::format("{}: {} before, {} now", key, shown(one, key), shown(other, key)));
  }
  return words;
}

/// Settings that select the kernels, and so determine the bits of a result for a given source.
bool selects_kernels(const std::string& difference) {
  static const std::set<std::string> keys = {"device",
                                             "machine/cpu_vendor",
                                             "machine/cpu_family",
                                             "machine/cpu_model_number",
                                             "machine/aten_capability",
                                             "machine/mkl_version",
                                             "machine/bf16_instructions",
                                             "machine/gpus",
                                             "versions/libtorch",
                                             "versions/cuda_runtime",
                                             "versions/cuda_driver",
                                             "environment/attention",
                                             "environment/compute_threads",
                                             "environment/MKL_ENABLE_INSTRUCTIONS",
                                             "environment/MKL_CBWR",
                                             "environment/ATEN_CPU_CAPABILITY",
                                             "environment/ONEDNN_MAX_CPU_ISA",
                                             "environment/tf32_cublas",
                                             "environment/tf32_cudnn"};
  return keys.contains(difference.substr(0, difference.find(": ")));
}

std::string complaint_of(const CellVerdict& cell) {
  if (cell.incomplete()) return "incomplete: " + missing_words(cell.checks, false);
  if (cell.first_divergence) return "first divergence: " + cell.first_divergence->words;
  const auto check = std::ranges::find_if(cell.checks, is_blocking);
  return check == cell.checks.end() ? "does not hold" : check->name + ": " + check->reason;
}

class Comparing {
 public:
  Comparing(const fs::path& before, const fs::path& now)
      : before_(before),
        now_(now),
        was_(read_verdict(before / "verdict.json")),
        is_(read_verdict(now / "verdict.json")) {}

  SweepComparison compare() {
    std::vector<std::string> other_path;
    for (const auto& words : differences(was_.machine, is_.machine)) {
      if (words.starts_with("versions/commit: ")) continue;  // it may always differ
      result_.environment.push_back(words);
      if (selects_kernels(words)) other_path.push_back(words);
    }
    if (!other_path.empty())
      result_.not_compared.push_back("bits: computed on another code path (" + join(other_path, "; ") + ")");
    for (const auto& reference : was_.references) {
      if (const auto* now = find(is_.references, "references", reference.id)) {
        if (other_path.empty()) bits(reference.id);
        bytes("references", reference.id, reference.request, now->request);
      }
    }
    for (const auto& cell : was_.cells) {
      if (const auto* now = find(is_.cells, "cells", cell.id)) {
        checks(cell, *now);
        bytes("cells", cell.id, cell.request, now->request);
      }
    }
    for (const auto& cell : is_.cells) {
      if (!cell.holds) change("case " + cell.id, "does not hold: " + complaint_of(cell));
    }
    return std::move(result_);
  }

 private:
  void change(const std::string& where, const std::string& words) { result_.changes.push_back(where + ": " + words); }

  template <class Run>
  const Run* find(const std::vector<Run>& runs, const std::string& kind, const std::string& id) {
    const auto found = std::ranges::find(runs, id, &Run::id);
    if (found != runs.end()) return &*found;
    change((kind == "cells" ? "case " : "reference ") + id, "was run before but not now");
    return nullptr;
  }

  void bits(const std::string& id) {
    const fs::path before = before_ / "references" / id, now = now_ / "references" / id;
    require_another_run(before, now);
    ++result_.references;
    const CellVerdict verdict = compare_records(before, now);
    if (!verdict.holds) change("bits, " + id, complaint_of(verdict));
  }

  /// A sweep and a copy of it, as its baseline is, say nothing about a change.
  static void require_another_run(const fs::path& before, const fs::path& now) {
    const auto run_id = [](const fs::path& record) {
      return read_json(record_of_replica(record, {}) / "manifest.json").value("run_id", std::string());
    };
    if (const std::string id = run_id(now); !id.empty() && id == run_id(before))
      throw InputError(
          fmt::format("{} and {} are the same run (run id {}); run the sweep again into a new folder and "
                      "compare that",
                      before.string(), now.string(), id));
  }

  void checks(const CellVerdict& before, const CellVerdict& now) {
    for (const auto& check : before.checks) {
      if (check.outcome != Outcome::holds || !now.holds) continue;
      const auto found = std::ranges::find(now.checks, check.name, &CheckResult::name);
      const std::string outcome = found == now.checks.end() ? "not there" : outcome_words(found->outcome);
      if (outcome != outcome_words(Outcome::holds))
        change("case " + now.id, fmt::format("check {}: held before, {} now", check.name, outcome));
    }
  }

  /// A change that promises the same bits, such as recomputation, takes other memory.
  void bytes(const std::string& kind, const std::string& id, const Json& before, const Json& now) {
    if (const auto changed = differences(before, now); !changed.empty()) {
      result_.not_compared.push_back("bytes, " + id + ": another run was requested (" + join(changed, "; ") + ")");
      return;
    }
    const fs::path one = record_of_replica(before_ / kind / id, {}), other = record_of_replica(now_ / kind / id, {});
    const bool alone = !path_exists(one / rank_folder(1));
    for (std::int64_t rank = 0; path_exists(one / rank_folder(rank) / "memory.csv"); ++rank)
      rank_bytes(id, rank, alone, one / rank_folder(rank) / "memory.csv", other / rank_folder(rank) / "memory.csv");
  }

  /// Tensor bytes that are equal in every run. Memory of the process and buffers between ranks, and so the whole peak
  /// of several ranks, depend on when messages arrive.
  void rank_bytes(const std::string& id, std::int64_t rank, bool alone, const fs::path& before, const fs::path& now) {
    const CsvTable one = read_csv(before, {"step"}, most_by_program), other = read_csv(now, {"step"}, most_by_program);
    if (one.rows.size() != other.rows.size())
      return change("bytes, " + id,
                    fmt::format("rank {} has {} steps before, {} now", rank, one.rows.size(), other.rows.size()));
    for (const char* column :
         {"parameter_bytes", "gradient_bytes", "optimizer_bytes", "activation_peak_bytes", "peak_bytes"}) {
      if (!one.has(column) || (std::string(column) == "peak_bytes" && !alone)) continue;
      const std::size_t from = one.column(column), to = other.column(column);
      for (std::size_t row = 0; row < one.rows.size(); ++row) {
        ++result_.byte_counts;
        const std::string &was = one.rows[row].cells[from], &is = other.rows[row].cells[to];
        if (was == is) continue;
        change("bytes, " + id, fmt::format("rank {}, from step {} on: {} {} before, {} now", rank,
                                           one.rows[row].cells[one.column("step")], column, was, is));
        break;
      }
    }
  }

  const fs::path &before_, &now_;
  Verdict was_, is_;
  SweepComparison result_;
};

}  // namespace

SweepComparison compare_sweeps(const fs::path& before, const fs::path& now) {
  return Comparing(before, now).compare();
}

std::string to_text(const SweepComparison& comparison) {
  std::string text = !comparison.changes.empty()  ? "CHANGED\n"
                     : comparison.references == 0 ? "VERDICTS EQUAL; no bits could be compared\n"
                                                  : "EQUAL\n";
  text += fmt::format("compared: {} in bits, {} numbers of bytes\n", quantity(comparison.references, "reference"),
                      comparison.byte_counts);
  for (const auto& change : comparison.changes) text += "changed: " + change + "\n";
  for (const auto& words : comparison.environment) text += "machine: " + words + "\n";
  for (const auto& words : comparison.not_compared) text += "not compared: " + words + "\n";
  return text;
}

}  // namespace plumbline
