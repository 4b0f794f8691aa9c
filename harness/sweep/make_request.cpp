// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/make_request.hpp"

#include <algorithm>
#include <set>

#include "harness/judge/request/partition_asked.hpp"
#include "harness/sweep/command_request.hpp"
#include "harness/sweep/model_config.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/paths.hpp"
#include "support/toml.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// A run file's tables with the defaults of docs/run-file.md; the trainers report errors in it.
class Asked {
 public:
  Asked(const fs::path& run, const RunChanges& changes)
      : run_(run), changes_(changes), file_(TomlTable::read(run)), config_(model_config(path_of("model", "config"))) {}

  Request training(const std::string& device, const std::string& level) const {
    Request request;
    request.model_digest = config_->digest;
    request.seed = static_cast<std::uint64_t>(integer("train", "seed", 1));
    request.dtype = text("train", "precision", text("train", "dtype", "float32"));
    request.steps = integer("train", "steps", 0);
    request.optimizer = optimizer();
    request.learning_rate_schedule = Json{{"total_steps", *request.steps},
                                          {"warmup_steps", integer("train", "warmup_steps", 0)},
                                          {"start_factor", number("train", "start_factor", 1.0)},
                                          {"final_factor", number("train", "final_factor", 0.0)}};
    const auto train = file_.table("train");
    const auto clip = train ? train->number("clip_norm") : std::nullopt;
    request.clip_norm = clip ? Json(*clip) : Json(nullptr);
    request.microbatches = microbatches();
    if (!text("data", "text", "").empty() || !id_files("tokens").empty()) request.data = data("text", "tokens");
    request.evaluation.emplace(evaluation(*request.microbatches));
    request.device = device;
    request.threads = integer("train", "threads", 1);
    request.recompute = text("train", "recompute", "none");
    request.level = !level.empty() ? level : changes_.dump ? "dump" : text("record", "level", "full");
    return request;
  }

  std::string transport() const {
    const std::string named = text("pipeline", "transport", "mpi");
    return named == "threads" ? "mpi" : named;  // a sweep starts processes
  }

  judging::PartitionAsked partition() const {
    judging::PartitionAsked asked;
    asked.rule = text("pipeline", "partition", halves() ? "cost" : "uniform");
    const auto pipeline = file_.table("pipeline");
    if (pipeline) asked.balance = pipeline->integers("balance").value_or(std::vector<std::int64_t>{});
    if (changes_.partition) asked = {*changes_.partition, {}};
    if (!changes_.balance.empty()) asked = {"", changes_.balance};
    return asked;
  }

  /// nullopt for a config.json of another model, which the trainers report.
  std::optional<judging::ExpectedModel> model() const {
    try {
      return judging::expected_model(config_->json, halves());
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

 private:
  bool halves() const { return changes_.granularity.value_or(text("pipeline", "granularity", "layer")) == "half"; }

  std::string text(const char* table, const char* key, const std::string& fallback) const {
    const auto found = file_.table(table);
    return found ? found->text(key).value_or(fallback) : fallback;
  }
  std::int64_t integer(const char* table, const char* key, std::int64_t fallback) const {
    const auto found = file_.table(table);
    return found ? found->integer(key).value_or(fallback) : fallback;
  }
  double number(const char* table, const char* key, double fallback) const {
    const auto found = file_.table(table);
    return found ? found->number(key).value_or(fallback) : fallback;
  }
  fs::path path_of(const char* table, const char* key) const {
    return (run_.parent_path() / text(table, key, "")).lexically_normal();
  }

  Json optimizer() const {
    const std::string own = text("train", "optimizer", "adamw");
    const std::string name = changes_.optimizer.value_or(own);
    Json json{{"name", name},
              {"learning_rate", number("train", "learning_rate", 1e-3)},
              {"weight_decay", number("train", "weight_decay", 0.0)},
              {"decay", text("train", "decay", "all")}};
    if (name == "sgd") {
      json["momentum"] = number("train", "momentum", 0.0);
    } else {
      json["beta1"] = number("train", "beta1", 0.9);
      json["beta2"] = number("train", "beta2", 0.999);
      json["eps"] = number("train", "eps", 1e-8);
    }
    return json;
  }

  std::vector<RequestedMicrobatch> microbatches() const {
    const auto table = file_.table("data");
    auto rows = changes_.lengths;
    std::int64_t count = std::ssize(rows);
    if (rows.empty() && table) {
      rows = table->integer_rows("lengths").value_or(rows);
      count = integer("data", "microbatches", std::ssize(rows));
    }
    const auto listed =
        table ? table->integers("masked").value_or(std::vector<std::int64_t>{}) : std::vector<std::int64_t>{};
    const std::set<std::int64_t> masked(listed.begin(), listed.end());
    const std::int64_t batch = std::max<std::int64_t>(integer("data", "batch", 1), 1);
    if (std::ranges::any_of(rows, [](const auto& row) { return row.empty(); }))
      throw InputError(run_.string() + ", key data.lengths: has a microbatch without rows");
    // Check memory here: the trainers would refuse it, but the request lists every row before they run.
    if (batch > most_rows || count > most_rows / batch)
      throw InputError(run_.string() + ", key data.batch: " + std::to_string(count) + " microbatches of " +
                       std::to_string(batch) + " rows exceed " + std::to_string(most_rows) +
                       " rows a step, the most that a sweep accepts");
    std::vector<RequestedMicrobatch> microbatches;
    for (std::int64_t number = 0; number < count && !rows.empty(); ++number) {
      RequestedMicrobatch microbatch;
      microbatch.lengths = rows[static_cast<std::size_t>(number) % rows.size()];
      if (microbatch.lengths.size() == 1)
        microbatch.lengths.assign(static_cast<std::size_t>(batch), microbatch.lengths.front());
      microbatch.masked = masked.contains(number);
      microbatches.push_back(std::move(microbatch));
    }
    return microbatches;
  }

  /// Files of the key, with patterns expanded and an index replaced by its .bin.
  std::vector<fs::path> id_files(const char* key) const {
    const auto table = file_.table("data");
    std::vector<fs::path> files;
    for (const std::string& named :
         table ? table->one_or_more_texts(key).value_or(std::vector<std::string>{}) : std::vector<std::string>{}) {
      const fs::path path = (run_.parent_path() / named).lexically_normal();
      std::set<std::string> matching;  // sort as texts, by bytes; paths compare by folders first
      for (fs::path each : files_matching(path)) {
        if (each.extension() == ".idx") each.replace_extension(".bin");
        matching.insert(each.string());
      }
      if (matching.empty()) matching.insert(path.string());  // the trainers report that it is missing
      files.insert(files.end(), matching.begin(), matching.end());
    }
    return files;
  }

  std::vector<fs::path> text_files(const char* key) const {
    const fs::path source = path_of("data", key);
    std::error_code error;
    if (!fs::is_directory(source, error)) return {source};
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(source, error)) {
      if (entry.is_regular_file(error) && entry.path().extension() == ".txt") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
  }

  /// The validation data have the format of the training data.
  std::optional<RequestedEvaluation> evaluation(std::vector<RequestedMicrobatch> microbatches) const {
    const auto table = file_.table("data");
    if (!table || !table->has("validation")) return std::nullopt;
    RequestedEvaluation asked;
    asked.every = integer("evaluate", "every", 0);
    const std::int64_t count =
        std::clamp<std::int64_t>(integer("evaluate", "microbatches", std::ssize(microbatches)), 0, most_rows);
    for (auto& microbatch : microbatches) microbatch.masked = false;
    for (std::int64_t m = 0; m < count && !microbatches.empty(); ++m)
      asked.microbatches.push_back(microbatches[static_cast<std::size_t>(m) % microbatches.size()]);
    asked.data = table->has("text") ? data("validation", nullptr) : data(nullptr, "validation");
    asked.data.shuffle = "none";
    return asked;
  }

  /// The key that is set, of those for a text and for files of ids; null: none.
  RequestedData data(const char* of_text, const char* of_ids) const {
    RequestedData data;
    data.seed = static_cast<std::uint64_t>(integer("data", "seed", 1));
    data.shuffle = text("data", "shuffle", "none");
    if (of_ids != nullptr) data.files = id_files(of_ids);
    data.format = data.files.empty() ? "bytes" : text("data", "token_type", "uint16");
    if (data.files.empty() && of_text != nullptr) data.files = text_files(of_text);
    std::error_code error;
    for (auto& file : data.files) {
      const auto size = fs::file_size(file, error);
      data.sizes.push_back(error ? 0 : static_cast<std::int64_t>(size));
      file = fs::absolute(file, error).lexically_normal();
    }
    return data;
  }

  static constexpr std::int64_t most_rows = 1'000'000;

  fs::path run_;
  const RunChanges& changes_;
  TomlTable file_;
  std::shared_ptr<const ModelConfig> config_;
};

/// The rows of one step with their padded lengths.
std::vector<std::int64_t> padded_rows(const std::vector<RequestedMicrobatch>& microbatches) {
  std::vector<std::int64_t> rows;
  for (const auto& microbatch : microbatches) {
    rows.insert(rows.end(), microbatch.lengths.size(), std::ranges::max(microbatch.lengths));
  }
  return rows;
}

}  // namespace

Request make_request(const SweepFile& sweep, const PlannedReference& reference, const std::string& level) {
  if (reference.command) return request_of_command(*reference.command, level);
  Request request = Asked(reference.run, reference.changes).training(sweep.device, level);
  request.role = "reference";
  request.first_step = 0;
  request.world_size = 1;
  request.accumulation_digest = reference.accumulation.empty() ? "" : hash_hex(reference.accumulation);
  return request;
}

Request make_request(const SweepFile& sweep, const PlannedCell& cell, const std::string& level) {
  if (cell.command) return request_of_command(*cell.command, level);
  const Asked asked(cell.run, cell.changes);
  Request request = asked.training(sweep.device, level);
  const std::int32_t ranks = cell.placement.ranks;
  const auto replicas = static_cast<std::int32_t>(cell.plan.world) / ranks;
  request.role = "pipeline";
  request.first_step = cell.goes_on_with ? cell.goes_on_with->steps : 0;
  request.world_size = cell.plan.world;
  // A user's launcher may select another transport, such as threads of one process.
  if (!sweep.own_launcher) request.transport = asked.transport();
  const bool from_file = !cell.plan.schedule_csv.empty();
  const std::int32_t chunks = cell.placement.chunks_per_rank;
  const auto microbatches = static_cast<std::int32_t>(request.microbatches->size());
  if (!from_file && microbatches == 0) {
    throw InputError(
        cell.run.string() +
        ", key data.lengths: gives no microbatch; write one row length for each, for example [96, 33, 64]");
  }
  const std::string csv =
      from_file ? cell.plan.schedule_csv : to_csv(make_schedule(cell.schedule, ranks, microbatches / replicas, chunks));
  request.schedule = RequestedSchedule{cell.plan.schedule, chunks, hash_hex(csv)};
  const auto model = asked.model();
  if (!model) return request;
  const auto units = judging::partition_asked(*model, asked.partition(), std::int64_t{ranks} * chunks,
                                              padded_rows(*request.microbatches));
  request.stages.emplace();
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    const auto number = static_cast<std::int32_t>(stage);
    request.stages->push_back({number, cell.placement.rank_of(number), units[stage]});
  }
  return request;
}

}  // namespace plumbline
