// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_variant.hpp"

#include <sstream>
#include <utility>

#include "harness/sweep/run_facts.hpp"
#include "schedule/runnable.hpp"
#include "support/files.hpp"
#include "support/toml_library.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

toml::table& table_of(toml::table& root, const std::string& key) {
  if (!root[key].is_table()) root.insert_or_assign(key, toml::table{});
  return *root[key].as_table();
}

void put_optimizer(toml::table& root, const std::string& optimizer) {
  toml::table& train = table_of(root, "train");
  if (train["optimizer"].value_or(std::string("adamw")) != optimizer) {
    if (optimizer == "sgd") {
      for (const char* key : {"beta1", "beta2", "eps"}) train.erase(key);
    } else {
      train.erase("momentum");
    }
  }
  train.insert_or_assign("optimizer", optimizer);
}

toml::array array_of(const std::vector<std::int64_t>& numbers) {
  toml::array array;
  for (const auto number : numbers) array.push_back(number);
  return array;
}

void put_lengths(toml::table& root, const std::vector<std::vector<std::int64_t>>& lengths) {
  toml::array rows;
  for (const auto& row : lengths) {
    if (row.size() == 1) {
      rows.push_back(row.front());
    } else {
      rows.push_back(array_of(row));
    }
  }
  toml::table& data = table_of(root, "data");
  data.erase("microbatches");  // the lengths define their number
  data.insert_or_assign("lengths", std::move(rows));
}

void put_partition(toml::table& root, const RunChanges& changes) {
  if (!changes.partition && changes.balance.empty()) return;
  toml::table& pipeline = table_of(root, "pipeline");
  pipeline.erase("partition");
  pipeline.erase("balance");
  if (changes.partition) {
    pipeline.insert("partition", *changes.partition);
  } else {
    pipeline.insert("balance", array_of(changes.balance));
  }
}

toml::table changed(const fs::path& run, const RunChanges& changes) {
  toml::table root = parse_toml(run, read_file(run));
  if (changes.optimizer) put_optimizer(root, *changes.optimizer);
  if (!changes.lengths.empty()) put_lengths(root, changes.lengths);
  put_partition(root, changes);
  if (changes.replicas) table_of(root, "pipeline").insert_or_assign("replicas", *changes.replicas);
  root.erase("checkpoint");  // a sweep does not save; all cases would write to one folder
  // The interactive limit for a slow rank is ten minutes; a sweep has many cases to run.
  toml::table& pipeline = table_of(root, "pipeline");
  if (!pipeline.contains("timeout_ms")) pipeline.insert("timeout_ms", 30000);
  if (!changes.level.empty()) root.insert_or_assign("record", toml::table{{"level", changes.level}});
  return root;
}

std::string relative_text(const fs::path& path, const fs::path& folder) {
  const fs::path to = fs::weakly_canonical(fs::absolute(folder));
  return fs::weakly_canonical(fs::absolute(path)).lexically_relative(to).string();
}

/// Paths are relative to the folder of their file: a file elsewhere needs others. Values that are no text are left to
/// the trainer, which reports them.
std::string text_for(toml::table root, const RunChanges& changes, const fs::path& run, const fs::path& folder) {
  const fs::path from = fs::weakly_canonical(fs::absolute(run)).parent_path();
  const fs::path to = fs::weakly_canonical(fs::absolute(folder));
  const auto rebase = [&](toml::node& node) {
    auto* path = node.as_string();
    if (path == nullptr || fs::path(path->get()).is_absolute()) return;
    const fs::path whole = from / path->get();
    // Do not resolve a link's own name: the index is next to it, and shards are ordered by name.
    const bool named = whole.has_filename() && whole.filename() != "." && whole.filename() != "..";
    const fs::path resolved =
        named ? fs::weakly_canonical(whole.parent_path()) / whole.filename() : fs::weakly_canonical(whole);
    *path = resolved.lexically_relative(to).string();
  };
  for (const auto& [table, key] : {std::pair{"model", "config"},
                                   {"model", "weights"},
                                   {"data", "text"},
                                   {"data", "tokens"},
                                   {"data", "validation"},
                                   {"data", "ignore"},
                                   {"data", "validation_ignore"}}) {
    toml::node* node = root[table][key].node();
    if (node == nullptr) continue;
    rebase(*node);
    if (auto* paths = node->as_array()) {
      for (toml::node& each : *paths) rebase(each);
    }
  }
  if (changes.weights) table_of(root, "model").insert_or_assign("weights", relative_text(*changes.weights, folder));
  std::ostringstream text;
  text << root << "\n";
  return text.str();
}

}  // namespace

std::string reference_run(const fs::path& run, const RunChanges& changes, const fs::path& folder) {
  toml::table root = changed(run, changes);
  root.erase("pipeline");
  return text_for(std::move(root), changes, run, folder);
}

std::string pipeline_run(const fs::path& run, const RunChanges& changes, const std::string& schedule,
                         const fs::path& folder) {
  toml::table root = changed(run, changes);
  toml::table& pipeline = table_of(root, "pipeline");
  pipeline.insert_or_assign("schedule", names_schedule_file(schedule) ? relative_text(schedule, folder) : schedule);
  // A sweep starts processes; threads as ranks are for tests.
  if (pipeline["transport"].value_or(std::string()) == "threads") pipeline.insert_or_assign("transport", "mpi");
  return text_for(std::move(root), changes, run, folder);
}

std::string candidate_run(const fs::path& run, const RunChanges& changes, const fs::path& folder) {
  toml::table root = changed(run, changes);
  const auto schedule = root["pipeline"]["schedule"].value<std::string>();
  if (schedule && names_schedule_file(*schedule))
    table_of(root, "pipeline").insert_or_assign("schedule", relative_text(run.parent_path() / *schedule, folder));
  return text_for(std::move(root), changes, run, folder);
}

}  // namespace plumbline
