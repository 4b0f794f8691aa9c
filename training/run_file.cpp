// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_file.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "record/precision.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"
#include "training/token_source.hpp"

namespace plumbline {

namespace {

const std::vector<std::string> known_optimizers{"adamw", "sgd"};

/// Deadlines are added to a 64-bit clock of nanoseconds.
constexpr std::int64_t longest_timeout_ms = 7 * 24 * 3600 * std::int64_t{1000};
constexpr const char* a_week = ", which is 7 days";

/// NCCL's MAXCHANNELS.
constexpr std::int64_t most_ctas = 64;
constexpr const char* a_channel_each = ", the most channels that NCCL has";

/// Default number of microbatches of an evaluation.
constexpr std::int64_t most_evaluated = 1000000;
constexpr std::int64_t most_threads = 1024;
constexpr std::int64_t largest_int32 = std::numeric_limits<std::int32_t>::max();

/// Limit on the bytes of a step's row lengths if the tokens cannot be counted; reading them reports the error.
constexpr std::int64_t largest_unread = std::int64_t{1} << 20;

[[noreturn]] void refuse(const TomlTable& table, const std::string& key, const std::string& what) {
  throw InputError(table.where(key) + ": " + what);
}

std::string required_text(const TomlTable& table, const std::string& key, const std::string& example) {
  const auto value = table.text(key);
  if (!value || value->empty()) {
    refuse(table, key, "is missing; write for example " + key + " = \"" + example + "\"");
  }
  return *value;
}

std::string one_of(const TomlTable& table, const std::string& key, const std::string& fallback,
                   const std::vector<std::string>& known) {
  const std::string value = table.text(key).value_or(fallback);
  if (std::ranges::find(known, value) == known.end()) {
    refuse(table, key, "\"" + value + "\" is unknown; give one of " + join(known, ", ") + did_you_mean(value, known));
  }
  return value;
}

/// `most_words`: text after the largest number in the message, if any.
std::int64_t integer_from(const TomlTable& table, const std::string& key, std::int64_t fallback, std::int64_t least,
                          std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                          const std::string& most_words = "") {
  const std::int64_t value = table.integer(key).value_or(fallback);
  if (value < least) {
    refuse(table, key, "is " + std::to_string(value) + "; it must be at least " + std::to_string(least));
  }
  if (value > most) {
    refuse(table, key, "is " + std::to_string(value) + "; it must be at most " + std::to_string(most) + most_words);
  }
  return value;
}

/// A finite number for which `holds` is true.
template <typename Condition>
double number_where(const TomlTable& table, const std::string& key, double fallback, Condition holds,
                    const std::string& demand) {
  const double value = table.number(key).value_or(fallback);
  if (!holds(value)) {
    refuse(table, key, "is " + to_text(value) + "; it must be " + demand);
  }
  return value;
}

double positive(const TomlTable& table, const std::string& key, double fallback) {
  return number_where(
      table, key, fallback, [](double value) { return value > 0; }, "above 0");
}

double not_negative(const TomlTable& table, const std::string& key, double fallback) {
  return number_where(
      table, key, fallback, [](double value) { return value >= 0; }, "0 or more");
}

double below_one(const TomlTable& table, const std::string& key, double fallback) {
  return number_where(
      table, key, fallback, [](double value) { return value >= 0 && value < 1; }, "0 or more and below 1");
}

TomlTable required_table(const TomlTable& file, const std::string& key) {
  auto table = file.table(key);
  if (!table) {
    refuse(file, key, "the table [" + key + "] is missing");
  }
  return *table;
}

/// First of all, so that a misspelled key is not reported as a missing one.
void refuse_other_keys(const TomlTable& table, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) table.has(key);
  table.refuse_unknown_keys();
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, const std::optional<std::filesystem::path>& text,
         const std::vector<std::string>& assignments)
      : folder_(path.parent_path()), other_text_(text), file_(TomlTable::read(path, assignments)) {
    run_.path = path;
  }

  RunFile read() {
    refuse_other_keys(file_, {"name", "model", "data", "train", "pipeline", "evaluate", "record", "checkpoint"});
    read_model(required_table(file_, "model"));
    read_data(required_table(file_, "data"));
    read_train(required_table(file_, "train"));
    if (const auto pipeline = file_.table("pipeline")) {
      read_pipeline(*pipeline);
    }
    if (const auto checkpoint = file_.table("checkpoint")) {
      refuse_other_keys(*checkpoint, {"folder", "every", "keep", "background", "timeout_ms"});
      run_.checkpoint.asked = true;  // --checkpoint may supply the folder
      if (checkpoint->has("folder"))
        run_.checkpoint.folder = resolve(required_text(*checkpoint, "folder", "checkpoints"));
      run_.checkpoint.every = integer_from(*checkpoint, "every", 0, 0);
      run_.checkpoint.keep = integer_from(*checkpoint, "keep", run_.checkpoint.keep, 1);
      run_.checkpoint.background = checkpoint->boolean("background").value_or(false);
      run_.checkpoint.timeout_ms =
          integer_from(*checkpoint, "timeout_ms", run_.checkpoint.timeout_ms, 1, longest_timeout_ms, a_week);
    }
    if (const auto record = file_.table("record")) {
      refuse_other_keys(*record, {"level"});
      run_.record_level = parse_record_level(one_of(*record, "level", "full", {"none", "summary", "full", "dump"}));
    }
    return run_;
  }

 private:
  std::filesystem::path resolve(const std::string& path) const { return (folder_ / path).lexically_normal(); }

  std::vector<std::filesystem::path> files_of_ids(const TomlTable& data, const std::string& key) const {
    std::vector<std::filesystem::path> files;
    const std::vector<std::string> names = data.one_or_more_texts(key).value();
    for (const std::string& each : names) files.push_back(resolve(each));
    if (files.empty()) refuse(data, key, "names no file; give at least one");
    return files;
  }

  void read_model(const TomlTable& model) {
    refuse_other_keys(model, {"config", "weights"});
    run_.config = resolve(required_text(model, "config", "models/stories260k/config.json"));
    if (model.has("weights")) {
      run_.weights = resolve(required_text(model, "weights", "model.safetensors"));
    }
  }

  void read_data(const TomlTable& data) {
    refuse_other_keys(data, {"text", "tokens", "validation", "token_type", "seed", "shuffle", "batch", "lengths",
                             "microbatches", "masked", "ignore", "validation_ignore"});
    const auto text = data.text("text");
    const bool tokens = data.has("tokens");
    if (text && tokens) {
      refuse(data, "tokens", "data.text is given, too; keep one of the two");
    }
    if (!text && !tokens) {
      refuse(data, "text", "is missing; name a UTF-8 file, a folder of .txt files, or files of ids as data.tokens");
    }
    if (text) {
      run_.data.text = resolve(*text);
    } else {
      run_.data.tokens = files_of_ids(data, "tokens");
    }
    if (data.has("token_type")) run_.data.token_type = one_of(data, "token_type", "", {"uint16", "uint32"});
    if (text && data.has("token_type")) {
      refuse(data, "token_type", "belongs to data.tokens; a text has one token a byte");
    }
    if (other_text_) {
      run_.data.text = other_text_;
      run_.data.tokens.clear();
      run_.data.token_type.reset();
    } else if (data.has("ignore")) {
      run_.data.ignore = files_of_ids(data, "ignore");
    }
    run_.data.shuffle = one_of(data, "shuffle", run_.data.shuffle, {"none", "windows"});
    run_.data.seed = static_cast<std::uint64_t>(integer_from(data, "seed", 1, 0));
    read_lengths(data);
    read_masked(data);
    read_validation(data);
  }

  /// Reads the kind of data that the run file uses, whatever replaces it.
  void read_validation(const TomlTable& data) {
    const auto evaluate = file_.table("evaluate");
    if (evaluate) refuse_other_keys(*evaluate, {"every", "microbatches"});
    if (!data.has("validation")) {
      if (evaluate)
        refuse(data, "validation", "is missing, but there is a table [evaluate]; name the data to evaluate");
      if (data.has("validation_ignore"))
        refuse(data, "validation_ignore", "belongs to data.validation, which is missing");
      return;
    }
    DataSettings validation = run_.data;
    validation.shuffle = "none";
    validation.masked.clear();
    validation.ignore.clear();
    if (data.has("validation_ignore")) validation.ignore = files_of_ids(data, "validation_ignore");
    validation.text.reset();
    if (data.has("text")) {
      validation.text = resolve(required_text(data, "validation", "validation.txt"));
    } else {
      validation.tokens = files_of_ids(data, "validation");
      if (data.has("token_type")) validation.token_type = *data.text("token_type");
    }
    if (evaluate) {
      run_.evaluate.every = integer_from(*evaluate, "every", 0, 0);
      const auto given = validation.row_lengths;
      const std::int64_t microbatches = integer_from(*evaluate, "microbatches", std::ssize(given), 1, most_evaluated);
      validation.row_lengths.clear();
      for (std::int64_t m = 0; m < microbatches; ++m) {
        validation.row_lengths.push_back(given[static_cast<std::size_t>(m) % given.size()]);
      }
    }
    run_.validation = std::move(validation);
  }

  void read_lengths(const TomlTable& data) {
    const std::int64_t batch = integer_from(data, "batch", 1, 1);
    auto rows = data.integer_rows("lengths");
    if (!rows || rows->empty()) {
      refuse(data, "lengths", "is missing; give one row length for each microbatch, for example [96, 33, 64]");
    }
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const std::vector<std::int64_t>& row = (*rows)[i];
      const std::string place = "microbatch " + std::to_string(i);
      if (row.size() != 1 && std::ssize(row) != batch) {  // one number: all rows have this length
        refuse(data, "lengths",
               place + " has " + std::to_string(row.size()) + " row lengths, data.batch is " + std::to_string(batch));
      }
      if (std::ranges::min(row) < 1) {
        refuse(data, "lengths",
               place + " has a row of " + std::to_string(std::ranges::min(row)) + " tokens; rows hold at least 1");
      }
    }
    const auto given = std::ssize(*rows);
    const std::int64_t microbatches =
        integer_from(data, "microbatches", given, 1, largest_int32, ", for schedules number them in 32 bits");
    if (microbatches < given) {
      refuse(data, "microbatches",
             "is " + std::to_string(microbatches) + ", but data.lengths has " + std::to_string(given) +
                 " entries; drop some of them");
    }
    refuse_too_large_a_step(data, *rows, batch, microbatches);
    for (std::vector<std::int64_t>& row : *rows) {
      const auto first = row.front();  // assign must not be given a reference to its own element
      if (row.size() == 1) row.assign(static_cast<std::size_t>(batch), first);
    }
    for (std::int64_t i = 0; i < microbatches; ++i) {
      run_.data.row_lengths.push_back((*rows)[static_cast<std::size_t>(i % given)]);
    }
  }

  /// By arithmetic, before allocating lists as long as the step.
  void refuse_too_large_a_step(const TomlTable& data, const std::vector<std::vector<std::int64_t>>& rows,
                               std::int64_t batch, std::int64_t microbatches) const {
    const auto given = std::ssize(rows);
    std::int64_t tokens = 1;  // the last row's last label is one token further
    for (std::int64_t i = 0; i < given; ++i) {
      const auto& row = rows[static_cast<std::size_t>(i)];
      const std::int64_t times = microbatches / given + (i < microbatches % given ? 1 : 0);
      for (const std::int64_t length : row) {
        tokens = sum_of_sizes({tokens, product_of_sizes({length, times, row.size() == 1 ? batch : 1})});
      }
    }
    const std::string step = std::to_string(microbatches) + " microbatches of " + std::to_string(batch) + " rows";
    const std::int64_t lengths = sum_of_sizes({product_of_sizes({microbatches, batch, sizeof(std::int64_t)}),
                                               product_of_sizes({microbatches, sizeof(rows.front())})});
    if (const auto available = tokens_by_size(run_.data)) {
      refuse_short_source(run_.data, *available, tokens);
    } else if (lengths > largest_unread) {
      refuse(data, "lengths", "asks for " + step + ", but the file with their tokens cannot be read");
    }
    require_memory(lengths, data.where("lengths") + ": a step of " + step);
  }

  void read_masked(const TomlTable& data) {
    run_.data.masked = data.integers("masked").value_or(std::vector<std::int64_t>{});
    const std::set<std::int64_t> distinct(run_.data.masked.begin(), run_.data.masked.end());
    if (distinct.size() != run_.data.masked.size()) {
      refuse(data, "masked", "names a microbatch twice");
    }
    for (const std::int64_t microbatch : distinct) {
      if (microbatch < 0 || microbatch >= run_.microbatches()) {
        refuse(data, "masked",
               "microbatch " + std::to_string(microbatch) + " does not exist; they are 0 to " +
                   std::to_string(run_.microbatches() - 1));
      }
    }
    if (std::ssize(distinct) == run_.microbatches()) {
      refuse(data, "masked", "leaves a step without a valid label; leave at least one microbatch unmasked");
    }
  }

  void read_train(const TomlTable& train) {
    refuse_other_keys(
        train,
        {"steps",         "seed",         "precision",   "dtype",   "warmup_steps", "start_factor", "final_factor",
         "curve",         "decay_steps",  "peak_tflops", "threads", "recompute",    "clip_norm",    "optimizer",
         "learning_rate", "weight_decay", "decay",       "beta1",   "beta2",        "eps",          "momentum"});
    TrainSettings& settings = run_.train;
    if (!train.has("steps")) {
      refuse(train, "steps", "is missing; write for example steps = 5");
    }
    settings.steps = integer_from(train, "steps", 0, 1, largest_int32);
    settings.seed = static_cast<std::uint64_t>(integer_from(train, "seed", 1, 0));
    if (train.has("precision") && train.has("dtype")) {
      refuse(train, "dtype", "is the old name of train.precision, which is given, too; keep one of the two");
    }
    settings.dtype = one_of(train, train.has("dtype") ? "dtype" : "precision", settings.dtype,
                            {"float32", "float64", "bfloat16", mixed_precision});
    const std::string recompute = one_of(train, "recompute", "none", {"none", "layer", "attention", "mlp"});
    for (const Recompute each : {Recompute::layer, Recompute::attention, Recompute::mlp}) {
      if (recompute == to_text(each)) settings.recompute = each;
    }
    settings.warmup_steps = integer_from(train, "warmup_steps", 0, 0);
    if (settings.warmup_steps > settings.steps) {
      refuse(
          train, "warmup_steps",
          "is " + std::to_string(settings.warmup_steps) + ", more than train.steps, " + std::to_string(settings.steps));
    }
    settings.start_factor = number_where(
        train, "start_factor", settings.start_factor, [](double value) { return value > 0 && value <= 1; },
        "above 0 and at most 1");
    settings.final_factor = number_where(
        train, "final_factor", settings.final_factor, [](double value) { return value >= 0 && value <= 1; },
        "from 0 to 1");
    read_curve(train);
    if (train.has("peak_tflops")) settings.peak_tflops = positive(train, "peak_tflops", 1.0);
    settings.threads = integer_from(train, "threads", 1, 1, most_threads);
    if (train.has("clip_norm")) {
      settings.clip_norm = positive(train, "clip_norm", 1.0);
    }
    read_optimizer(train);
  }

  void read_curve(const TomlTable& train) {
    TrainSettings& settings = run_.train;
    settings.curve = one_of(train, "curve", settings.curve, {"cosine", "linear", "constant", "wsd"});
    if (settings.curve == "constant" && train.has("final_factor")) {
      refuse(train, "final_factor", "is given, and the curve constant has no end; remove it, or choose another curve");
    }
    if (settings.curve != "wsd") {
      if (train.has("decay_steps"))
        refuse(train, "decay_steps", "is a key of the curve wsd; remove it, or write curve = \"wsd\"");
      return;
    }
    const std::int64_t most = settings.steps - settings.warmup_steps;
    settings.decay_steps = integer_from(train, "decay_steps", 0, 0);
    if (settings.decay_steps < 1 || settings.decay_steps > most) {
      refuse(train, "decay_steps",
             "is " + std::to_string(settings.decay_steps) + "; the curve wsd needs 1 to " + std::to_string(most) +
                 ", the steps after the warm-up");
    }
  }

  void read_optimizer(const TomlTable& train) {
    OptimizerSettings& settings = run_.train.optimizer;
    settings.name = one_of(train, "optimizer", settings.name, known_optimizers);
    settings.learning_rate = positive(train, "learning_rate", settings.learning_rate);
    settings.weight_decay = not_negative(train, "weight_decay", settings.weight_decay);
    settings.decay = one_of(train, "decay", settings.decay, {"all", "matrices"});
    settings.beta1 = below_one(train, "beta1", settings.beta1);
    settings.beta2 = below_one(train, "beta2", settings.beta2);
    settings.eps = positive(train, "eps", settings.eps);
    settings.momentum = below_one(train, "momentum", settings.momentum);
    const bool is_adamw = settings.name == "adamw";
    const std::vector<std::string> keys_of_the_other =
        is_adamw ? std::vector<std::string>{"momentum"} : std::vector<std::string>{"beta1", "beta2", "eps"};
    for (const std::string& key : keys_of_the_other) {
      if (train.has(key)) {
        refuse(train, key,
               "belongs to " + std::string(is_adamw ? "sgd" : "adamw") + "; " + settings.name + " takes " +
                   (is_adamw ? "beta1, beta2, eps and weight_decay" : "momentum and weight_decay"));
      }
    }
  }

  void read_replicas(const TomlTable& pipeline) {
    const std::int64_t replicas = integer_from(pipeline, "replicas", 1, 1, largest_int32);
    run_.pipeline.replicas = static_cast<std::int32_t>(replicas);
    if (run_.microbatches() % replicas == 0) return;
    refuse(pipeline, "replicas",
           "is " + std::to_string(replicas) + ", which does not divide the " + std::to_string(run_.microbatches()) +
               " microbatches of a step; each replica takes an equal part");
  }

  void read_pipeline(const TomlTable& pipeline) {
    refuse_other_keys(pipeline, {"schedule", "chunks", "transport", "timeout_ms", "start_timeout_ms", "granularity",
                                 "partition", "balance", "max_ctas", "replicas"});
    PipelineSettings& settings = run_.pipeline;
    // A name or a file; the schedules' own code checks names.
    settings.schedule = pipeline.text("schedule").value_or(settings.schedule);
    if (settings.schedule.ends_with(".csv")) settings.schedule = resolve(settings.schedule).string();  // a file
    const std::int64_t chunks = pipeline.has("chunks") ? integer_from(pipeline, "chunks", 1, 1, largest_int32) : 0;
    settings.chunks = static_cast<std::int32_t>(chunks);
    settings.transport = one_of(pipeline, "transport", settings.transport, {"mpi", "threads", "nccl"});
    settings.max_ctas =
        static_cast<std::int32_t>(integer_from(pipeline, "max_ctas", settings.max_ctas, 0, most_ctas, a_channel_each));
    read_replicas(pipeline);
    settings.timeout_ms = integer_from(pipeline, "timeout_ms", settings.timeout_ms, 1, longest_timeout_ms, a_week);
    settings.start_timeout_ms =
        integer_from(pipeline, "start_timeout_ms", settings.start_timeout_ms, 1, longest_timeout_ms, a_week);
    settings.granularity = one_of(pipeline, "granularity", settings.granularity, {"layer", "half"});
    // Halves are asked for so that stages balance.
    const std::string fallback = settings.granularity == "half" ? "cost" : settings.partition;
    settings.partition = one_of(pipeline, "partition", fallback, {"uniform", "cost"});
    if (const auto balance = pipeline.integers("balance")) {
      if (pipeline.has("partition")) {
        refuse(pipeline, "balance", "pipeline.partition is given, too; keep one of the two");
      }
      if (balance->empty() || std::ranges::min(*balance) < 0) {
        refuse(
            pipeline, "balance",
            "gives the layers (of granularity \"half\": half layers) of each stage, 0 or more, for example [2, 0, 3]");
      }
      settings.partition = "balance";
      settings.balance = *balance;
    }
  }

  std::filesystem::path folder_;
  std::optional<std::filesystem::path> other_text_;
  TomlTable file_;
  RunFile run_;
};

}  // namespace

double OptimizerSettings::decay_of(std::int64_t dimensions) const {
  return decay == "matrices" && dimensions < 2 ? 0.0 : weight_decay;
}

void OptimizerSettings::use(const std::string& optimizer) {
  if (std::ranges::find(known_optimizers, optimizer) == known_optimizers.end()) {
    throw InputError("optimizer \"" + optimizer + "\" is unknown; give one of " + join(known_optimizers, ", ") +
                     did_you_mean(optimizer, known_optimizers));
  }
  name = optimizer;
}

RunFile load_run_file(const std::filesystem::path& path, const std::optional<std::filesystem::path>& text,
                      const std::vector<std::string>& assignments) {
  RunFile run = Reader(path, text, assignments).read();
  for (const std::string& each : assignments) {
    run.assigned.push_back(each.substr(0, each.find('=')));
    std::erase(run.assigned.back(), ' ');
  }
  return run;
}

}  // namespace plumbline
