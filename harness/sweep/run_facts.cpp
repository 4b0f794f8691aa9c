// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/sweep/names.hpp"
#include "schedule/csv_import.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/file_memo.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/toml.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// A run file's tables with the defaults of docs/run-file.md; the trainers report errors in it. Reads the user's file
/// and the changes, not the text that a trainer gets: an error in that text must not also be in the request.
class RunReader {
 public:
  RunReader(const fs::path& run, const RunChanges& changes)
      : run_(run), changes_(changes), file_(TomlTable::read(run)) {}

  RunFacts facts() const {
    RunFacts facts;
    if (text("model", "config", "").empty())
      throw InputError(run_.string() + ", key model.config: is missing; name the model's config.json");
    facts.config = path_of("model", "config");
    const std::string folder = fs::absolute(facts.config).lexically_normal().parent_path().filename().string();
    facts.model = facts.config.filename() == "config.json" && !folder.empty() ? folder : facts.config.stem().string();
    facts.name = name_in_run_file(run_).value_or(name_of_file(run_));
    read_model(facts);
    if (!text("model", "weights", "").empty()) facts.weights = path_of("model", "weights");
    facts.steps = integer("train", "steps", 0);
    facts.optimizer = optimizer_name();
    facts.dtype = dtype();
    facts.schedule = text("pipeline", "schedule", "1f1b");
    if (names_schedule_file(facts.schedule)) facts.schedule = path_of("pipeline", "schedule").string();
    // The trainer records the schedule's canonical name, even if the run file uses another.
    facts.schedule = known_schedule(facts.schedule).value_or(facts.schedule);
    facts.transport = transport();
    facts.replicas = std::max<std::int64_t>(changes_.replicas.value_or(integer("pipeline", "replicas", 1)), 1);
    const auto chunks = integer("pipeline", "chunks", 0);
    if (std::in_range<std::int32_t>(chunks)) facts.chunks = static_cast<std::int32_t>(chunks);
    const auto [rows, count] = lengths();
    if (count > most_rows)
      throw InputError(
          fmt::format("{}, key data.microbatches: is {}; a sweep accepts at most {}", run_.string(), count, most_rows));
    facts.microbatches = rows.empty() ? 0 : count;
    for (std::int64_t microbatch = 0; microbatch < facts.microbatches; ++microbatch)
      facts.lengths.push_back(rows[static_cast<std::size_t>(microbatch) % rows.size()]);
    facts.partition = partition();
    for (const std::int64_t layers : facts.partition.balance) {
      if (layers >= 0 && layers <= most_layers) continue;
      throw InputError(fmt::format("{}, key pipeline.balance: gives the layers of each stage, from 0 to {}",
                                   run_.string(), most_layers));
    }
    return facts;
  }

  Request training(const SweepFile& sweep) const {
    Request request;
    request.model_digest = config()->digest;
    request.seed = static_cast<std::uint64_t>(integer("train", "seed", 1));
    request.dtype = dtype();
    request.steps = integer("train", "steps", 0);
    request.optimizer = optimizer();
    request.learning_rate_schedule = Json{{"total_steps", *request.steps},
                                          {"warmup_steps", integer("train", "warmup_steps", 0)},
                                          {"start_factor", number("train", "start_factor", 1.0)},
                                          {"final_factor", number("train", "final_factor", 0.0)}};
    if (const std::string curve = this->text("train", "curve", "cosine"); curve != "cosine")
      (*request.learning_rate_schedule)["curve"] = curve;
    if (const std::int64_t decay = integer("train", "decay_steps", 0); decay > 0)
      (*request.learning_rate_schedule)["decay_steps"] = decay;
    const auto train = file_.table("train");
    const auto clip = train ? train->number("clip_norm") : std::nullopt;
    request.clip_norm = clip ? Json(*clip) : Json(nullptr);
    request.microbatches = microbatches();
    if (!text("data", "text", "").empty() || !id_files("tokens").empty())
      request.data = data("text", "tokens", "ignore");
    request.evaluation.emplace(evaluation(*request.microbatches));
    request.device = sweep.device;
    request.threads = integer("train", "threads", 1);
    request.recompute = text("train", "recompute", "none");
    request.level = !changes_.level.empty() ? changes_.level
                    : sweep.calibrated      ? "dump"
                                            : text("record", "level", "full");
    return request;
  }

  std::string transport() const {
    const std::string named = text("pipeline", "transport", "mpi");
    return named == "threads" ? "mpi" : named;  // a sweep starts processes
  }

  judging::RequestedPartition partition() const {
    judging::RequestedPartition requested;
    requested.rule = text("pipeline", "partition", "uniform");
    const auto pipeline = file_.table("pipeline");
    if (pipeline) requested.balance = pipeline->integers("balance").value_or(std::vector<std::int64_t>{});
    if (changes_.partition) requested = {*changes_.partition, {}};
    if (!changes_.balance.empty()) requested = {"", changes_.balance};
    return requested;
  }

  /// nullopt for a config.json of another model, which the trainers report.
  std::optional<judging::ExpectedModel> model() const {
    try {
      return judging::expected_model(config()->json);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

 private:
  std::shared_ptr<const ModelConfig> config() const { return model_config(path_of("model", "config")); }

  /// The trainer reports errors of config.json in more detail.
  void read_model(RunFacts& facts) const try {
    const auto read = config();
    const Json& json = read->json;
    if (!json.is_object()) return;
    if (json.contains("num_hidden_layers") && json.at("num_hidden_layers").is_number_integer()) {
      const auto layers = json.at("num_hidden_layers").get<std::int64_t>();
      if (layers >= 1 && layers <= most_layers) facts.layers = layers;
    }
    facts.tied = json.value("tie_word_embeddings", Json(false)) == true;
  } catch (const InputError&) {
  }

  std::string dtype() const { return text("train", "precision", text("train", "dtype", "float32")); }
  std::string optimizer_name() const { return changes_.optimizer.value_or(text("train", "optimizer", "adamw")); }

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
    const std::string name = optimizer_name();
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

  /// Row lengths as the file or the changes list them, and the number of microbatches, over which they repeat.
  std::pair<std::vector<std::vector<std::int64_t>>, std::int64_t> lengths() const {
    auto rows = changes_.lengths;
    const auto table = file_.table("data");
    if (!rows.empty() || !table) return {rows, std::ssize(rows)};
    rows = table->integer_rows("lengths").value_or(rows);
    return {rows, integer("data", "microbatches", std::ssize(rows))};
  }

  std::vector<RequestedMicrobatch> microbatches() const {
    const auto [rows, count] = lengths();
    const auto table = file_.table("data");
    const auto listed =
        table ? table->integers("masked").value_or(std::vector<std::int64_t>{}) : std::vector<std::int64_t>{};
    const std::set<std::int64_t> masked(listed.begin(), listed.end());
    const std::int64_t batch = std::max<std::int64_t>(integer("data", "batch", 1), 1);
    if (std::ranges::any_of(rows, [](const auto& row) { return row.empty(); }))
      throw InputError(run_.string() + ", key data.lengths: has a microbatch without rows");
    // Check memory here: the trainers would refuse it, but the request lists every row before they run.
    if (batch > most_rows || count > most_rows / batch)
      throw InputError(fmt::format(
          "{}, key data.batch: {} microbatches of {} rows exceed {} rows a step, the most that a sweep accepts",
          run_.string(), count, batch, most_rows));
    std::vector<RequestedMicrobatch> microbatches;
    for (std::int64_t number = 0; number < count && !rows.empty(); ++number) {
      RequestedMicrobatch microbatch;
      microbatch.lengths = rows[static_cast<std::size_t>(number) % rows.size()];
      const std::int64_t first = microbatch.lengths.front();
      if (microbatch.lengths.size() == 1) microbatch.lengths.assign(static_cast<std::size_t>(batch), first);
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
    RequestedEvaluation requested;
    requested.every = integer("evaluate", "every", 0);
    const std::int64_t count =
        std::clamp<std::int64_t>(integer("evaluate", "microbatches", std::ssize(microbatches)), 0, most_rows);
    for (auto& microbatch : microbatches) microbatch.masked = false;
    for (std::int64_t m = 0; m < count && !microbatches.empty(); ++m)
      requested.microbatches.push_back(microbatches[static_cast<std::size_t>(m) % microbatches.size()]);
    requested.data = table->has("text") ? data("validation", nullptr, "validation_ignore")
                                        : data(nullptr, "validation", "validation_ignore");
    requested.data.shuffle = "none";
    return requested;
  }

  /// Their sizes, 0 of a missing one; makes the paths absolute.
  static std::vector<std::int64_t> measured(std::vector<fs::path>& files) {
    std::vector<std::int64_t> sizes;
    std::error_code error;
    for (auto& file : files) {
      const auto size = fs::file_size(file, error);
      sizes.push_back(error ? 0 : static_cast<std::int64_t>(size));
      file = fs::absolute(file, error).lexically_normal();
    }
    return sizes;
  }

  /// The key that is set, of those for a text and for files of ids; null: none.
  RequestedData data(const char* of_text, const char* of_ids, const char* ignore) const {
    RequestedData data;
    data.seed = static_cast<std::uint64_t>(integer("data", "seed", 1));
    data.shuffle = text("data", "shuffle", "none");
    if (of_ids != nullptr) data.files = id_files(of_ids);
    data.format = data.files.empty() ? "bytes" : text("data", "token_type", "uint16");
    if (data.files.empty() && of_text != nullptr) data.files = text_files(of_text);
    data.sizes = measured(data.files);
    data.ignore = id_files(ignore);
    data.ignore_sizes = measured(data.ignore);
    return data;
  }

  static constexpr std::int64_t most_rows = 1'000'000;

  fs::path run_;
  const RunChanges& changes_;
  TomlTable file_;
};

/// The rows of one step with their padded lengths.
std::vector<std::int64_t> padded_rows(const std::vector<RequestedMicrobatch>& microbatches) {
  std::vector<std::int64_t> rows;
  for (const auto& microbatch : microbatches) {
    rows.insert(rows.end(), microbatch.lengths.size(), std::ranges::max(microbatch.lengths));
  }
  return rows;
}

/// For a user's command: only the keys of the sweep file.
Request request_of(const PlannedCommand& command) {
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto found = command.values.find(name);
    return found == command.values.end() ? std::nullopt : std::optional(found->second);
  };
  const auto number = [&](const char* name) -> std::optional<std::int64_t> {
    const auto text = value(name);
    return text ? parse_integer(*text) : std::nullopt;
  };
  Request request;
  request.world_size = command.ranks;
  if (!command.mesh.empty()) request.mesh = Json(command.mesh);
  // A reference does not have a schedule, even if its command uses the case's.
  if (const auto schedule = value("schedule"); schedule && command.is_candidate)
    request.schedule = RequestedSchedule{*schedule, {}, {}};
  request.steps = number("steps");
  request.microbatch_count = number("microbatches");
  if (const auto seed = number("seed")) request.seed = static_cast<std::uint64_t>(*seed);
  request.threads = number("threads");
  request.dtype = value("dtype");
  request.device = value("device");
  request.level = value("level");
  return request;
}

}  // namespace

RunFacts read_run_facts(const fs::path& run, const RunChanges& changes) {
  return RunReader(run, changes).facts();
}

std::shared_ptr<const RunFacts> facts_of(const PlannedReference& reference) {
  if (reference.facts) return reference.facts;
  return std::make_shared<const RunFacts>(read_run_facts(reference.run, reference.changes));
}

Request make_request(const SweepFile& sweep, const PlannedReference& reference) {
  if (reference.command) return request_of(*reference.command);
  Request request = RunReader(reference.run, reference.changes).training(sweep);
  request.role = "reference";
  request.first_step = 0;
  request.world_size = 1;
  request.accumulation_digest = reference.accumulation.empty() ? "" : hash_hex(reference.accumulation);
  return request;
}

Request make_request(const SweepFile& sweep, const PlannedCell& cell) {
  if (cell.command) return request_of(*cell.command);
  const RunReader requested(cell.run, cell.changes);
  Request request = requested.training(sweep);
  const std::int32_t ranks = cell.placement.ranks;
  const auto replicas = static_cast<std::int32_t>(cell.plan.world) / ranks;
  request.role = "pipeline";
  request.first_step = cell.resumes_from ? cell.resumes_from->steps : 0;
  request.world_size = cell.plan.world;
  // A user's launcher may select another transport, such as threads of one process.
  if (!sweep.own_launcher) request.transport = requested.transport();
  const bool from_file = !cell.plan.schedule_csv.empty();
  const std::int32_t chunks = cell.placement.chunks_per_rank;
  const auto microbatches = static_cast<std::int32_t>(request.microbatches->size());
  if (!from_file && microbatches == 0) {
    throw InputError(
        cell.run.string() +
        ", key data.lengths: is empty; write one row length for each microbatch, for example [96, 33, 64]");
  }
  const std::string csv =
      from_file ? cell.plan.schedule_csv : to_csv(make_schedule(cell.schedule, ranks, microbatches / replicas, chunks));
  request.schedule = RequestedSchedule{cell.plan.schedule, chunks, hash_hex(csv)};
  const auto model = requested.model();
  if (!model) return request;
  const auto units = judging::requested_partition(*model, requested.partition(), std::int64_t{ranks} * chunks,
                                                  padded_rows(*request.microbatches));
  request.stages.emplace();
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    const auto number = static_cast<std::int32_t>(stage);
    request.stages->push_back({number, cell.placement.rank_of(number), units[stage]});
  }
  return request;
}

std::shared_ptr<const ModelConfig> model_config(const fs::path& path) {
  static FileMemo<ModelConfig> known;
  return known.of(path, "", [&] {
    Json json = read_json(path, most_by_hand);
    std::string digest = model_digest(json);
    return ModelConfig{std::move(json), std::move(digest)};
  });
}

}  // namespace plumbline
