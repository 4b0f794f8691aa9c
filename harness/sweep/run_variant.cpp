// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_variant.hpp"

#include <algorithm>
#include <sstream>

#include "harness/sweep/model_config.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/run_paths.hpp"
#include "schedule/csv_import.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/toml_library.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_microbatches = 1000000;  // per step; a sweep lists them

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

void put_lengths(toml::table& root, const std::vector<std::vector<std::int64_t>>& lengths) {
  toml::array rows;
  for (const auto& row : lengths) {
    if (row.size() == 1) {
      rows.push_back(row.front());
    } else {
      toml::array numbers;
      for (const auto length : row) numbers.push_back(length);
      rows.push_back(std::move(numbers));
    }
  }
  toml::table& data = table_of(root, "data");
  data.erase("microbatches");  // the lengths define their number
  data.insert_or_assign("lengths", std::move(rows));
}

void put_partition(toml::table& root, const RunChanges& changes) {
  if (changes.granularity) table_of(root, "pipeline").insert_or_assign("granularity", *changes.granularity);
  if (!changes.partition && changes.balance.empty()) return;
  toml::table& pipeline = table_of(root, "pipeline");
  pipeline.erase("partition");
  pipeline.erase("balance");
  if (changes.partition) {
    pipeline.insert("partition", *changes.partition);
  } else {
    toml::array balance;
    for (const auto layers : changes.balance) balance.push_back(layers);
    pipeline.insert("balance", std::move(balance));
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
  if (changes.dump) root.insert_or_assign("record", toml::table{{"level", "dump"}});
  return root;
}

std::string relative_text(const fs::path& path, const fs::path& folder) {
  const fs::path to = fs::weakly_canonical(fs::absolute(folder));
  return fs::weakly_canonical(fs::absolute(path)).lexically_relative(to).string();
}

/// Paths are relative to the folder of their file: a file elsewhere needs others.
std::string text_for(toml::table root, const fs::path& run, const fs::path& folder) {
  const fs::path from = fs::weakly_canonical(fs::absolute(run)).parent_path();
  const fs::path to = fs::weakly_canonical(fs::absolute(folder));
  change_paths(root, [&](const std::string& path) {
    if (fs::path(path).is_absolute()) return path;
    const fs::path whole = from / path;
    // Do not resolve a link's own name: the index is next to it, and shards are ordered by name.
    const bool named = whole.has_filename() && whole.filename() != "." && whole.filename() != "..";
    const fs::path resolved =
        named ? fs::weakly_canonical(whole.parent_path()) / whole.filename() : fs::weakly_canonical(whole);
    return resolved.lexically_relative(to).string();
  });
  std::ostringstream text;
  text << root << "\n";
  return text.str();
}

/// One number, or an array of them; -1 for anything else, which the trainer reports.
std::vector<std::int64_t> numbers_of(const toml::node& node) {
  std::vector<std::int64_t> numbers;
  if (const auto* array = node.as_array()) {
    for (const auto& number : *array) numbers.push_back(number.value_or(std::int64_t{-1}));
  } else {
    numbers.push_back(node.value_or(std::int64_t{-1}));
  }
  return numbers;
}

void read_model_facts(RunFacts& facts) {
  try {
    const auto config = model_config(facts.config);
    const Json& json = config->json;
    if (!json.is_object()) return;
    if (json.contains("num_hidden_layers") && json.at("num_hidden_layers").is_number_integer()) {
      const auto layers = json.at("num_hidden_layers").get<std::int64_t>();
      if (layers >= 1 && layers <= most_layers) facts.layers = layers;
    }
    if (json.contains("tie_word_embeddings") && json.at("tie_word_embeddings").is_boolean()) {
      facts.tied = json.at("tie_word_embeddings").get<bool>();
    }
  } catch (const InputError&) {
    // The trainer reports the error in more detail.
  }
}

}  // namespace

RunFacts read_run_facts(const fs::path& run, const RunChanges& changes) {
  const toml::table root = changed(run, changes);
  const auto config = root["model"]["config"].value<std::string>();
  if (!config) throw InputError(run.string() + ", key model.config: is missing; name the model's config.json");
  RunFacts facts;
  facts.config = (run.parent_path() / *config).lexically_normal();
  const std::string folder = fs::absolute(facts.config).lexically_normal().parent_path().filename().string();
  facts.model = facts.config.filename() == "config.json" && !folder.empty() ? folder : facts.config.stem().string();
  facts.name = name_in_run_file(run).value_or(name_of_file(run));
  read_model_facts(facts);
  if (const auto weights = root["model"]["weights"].value<std::string>()) {
    facts.weights = (run.parent_path() / *weights).lexically_normal();
  }
  facts.steps = root["train"]["steps"].value_or(std::int64_t{0});
  facts.optimizer = root["train"]["optimizer"].value_or(std::string("adamw"));
  facts.dtype = root["train"]["precision"].value_or(root["train"]["dtype"].value_or(std::string("float32")));
  facts.schedule = root["pipeline"]["schedule"].value_or(std::string("1f1b"));
  if (names_schedule_file(facts.schedule)) {
    facts.schedule = (run.parent_path() / facts.schedule).lexically_normal().string();
  }
  // The trainer records the schedule by its canonical name, whatever the run file calls it.
  facts.schedule = known_schedule(facts.schedule).value_or(facts.schedule);
  facts.schedule_dialect = root["pipeline"]["schedule_dialect"].value<std::string>();
  facts.transport = root["pipeline"]["transport"].value_or(std::string("mpi"));
  facts.replicas = std::max(root["pipeline"]["replicas"].value_or(std::int64_t{1}), std::int64_t{1});
  facts.chunks = root["pipeline"]["chunks"].value_or(std::int32_t{0});
  if (const auto* lengths = root["data"]["lengths"].as_array()) {
    facts.microbatches = root["data"]["microbatches"].value_or(static_cast<std::int64_t>(lengths->size()));
    if (facts.microbatches > most_microbatches) {
      throw InputError(run.string() + ", key data.microbatches: is " + std::to_string(facts.microbatches) +
                       "; a sweep takes at most " + std::to_string(most_microbatches));
    }
    for (std::int64_t microbatch = 0; microbatch < facts.microbatches && !lengths->empty(); ++microbatch) {
      facts.lengths.push_back(numbers_of((*lengths)[static_cast<std::size_t>(microbatch) % lengths->size()]));
    }
  }
  facts.halves = root["pipeline"]["granularity"].value_or(std::string("layer")) == "half";
  facts.partition = root["pipeline"]["partition"].value_or(std::string(facts.halves ? "cost" : "uniform"));
  if (root["pipeline"]["balance"].is_array()) facts.balance = numbers_of(*root["pipeline"]["balance"].node());
  for (const std::int64_t layers : facts.balance) {
    if (layers >= 0 && layers <= most_layers) continue;
    throw InputError(run.string() + ", key pipeline.balance: gives the layers of each stage, from 0 to " +
                     std::to_string(most_layers));
  }
  return facts;
}

bool takes_dialect_of(const RunFacts& facts, const std::string& schedule) {
  return facts.schedule_dialect && names_schedule_file(schedule) &&
         (schedule == facts.schedule || !tells_dialect(schedule));
}

std::string reference_run(const fs::path& run, const RunChanges& changes, const fs::path& folder) {
  toml::table root = changed(run, changes);
  const auto granularity = root["pipeline"]["granularity"].value_or(std::string("layer"));
  root.erase("pipeline");
  if (granularity != "layer") root.insert("pipeline", toml::table{{"granularity", granularity}});
  return text_for(std::move(root), run, folder);
}

std::string pipeline_run(const fs::path& run, const RunChanges& changes, const std::string& schedule,
                         const fs::path& folder) {
  toml::table root = changed(run, changes);
  toml::table& pipeline = table_of(root, "pipeline");
  if (names_schedule_file(schedule)) {
    pipeline.insert_or_assign("schedule", relative_text(schedule, folder));
  } else {
    pipeline.insert_or_assign("schedule", schedule);
  }
  if (!takes_dialect_of(read_run_facts(run, changes), schedule)) pipeline.erase("schedule_dialect");
  // A sweep starts processes; threads as ranks are for tests.
  if (pipeline["transport"].value_or(std::string()) == "threads") pipeline.insert_or_assign("transport", "mpi");
  return text_for(std::move(root), run, folder);
}

std::string starting_from(const std::string& run, const fs::path& weights, const fs::path& folder) {
  toml::table root = parse_toml("the run file", run);
  table_of(root, "model").insert_or_assign("weights", relative_text(weights, folder));
  root.insert_or_assign("record", toml::table{{"level", "dump"}});
  std::ostringstream text;
  text << root << "\n";
  return text.str();
}

std::string candidate_run(const fs::path& run, const RunChanges& changes, const fs::path& weights,
                          const fs::path& folder) {
  toml::table root = changed(run, changes);
  const RunFacts facts = read_run_facts(run, changes);
  if (names_schedule_file(facts.schedule)) {
    table_of(root, "pipeline").insert_or_assign("schedule", relative_text(facts.schedule, folder));
  }
  return starting_from(text_for(std::move(root), run, folder), weights, folder);
}

}  // namespace plumbline
