// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_file.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "training/run_keys.hpp"
#include "training/tokens.hpp"

namespace plumbline {

namespace {

/// Limit on the bytes of a step's row lengths if the tokens cannot be counted; reading them reports the error.
constexpr std::int64_t largest_unread = std::int64_t{1} << 20;

class Reader {
 public:
  Reader(const std::filesystem::path& path, const std::optional<std::filesystem::path>& text,
         const std::vector<std::string>& assignments)
      : other_text_(text), file_(TomlTable::read(path, assignments)) {
    run_.path = path;
  }

  /// Each table is checked by its keys, then by what they require of each other.
  RunFile read() {
    check_keys(file_, run_file_keys());
    if (file_.table("checkpoint")) run_.checkpoint_table();
    if (const auto pipeline = file_.table("pipeline"); pipeline && pipeline->has("granularity")) {
      refuse_key(*pipeline, "granularity", "was removed in 0.3: a stage has whole layers; remove the key");
    }
    for (const char* table : {"model", "data", "train", "pipeline", "evaluate", "checkpoint", "record"}) {
      if (const auto found = file_.table(table)) read_keys(*found, run_keys(table), run_);
    }
    read_data(*file_.table("data"));
    read_train(*file_.table("train"));
    if (const auto pipeline = file_.table("pipeline")) read_pipeline(*pipeline);
    if (const auto record = file_.table("record"))
      run_.record_level = parse_record_level(record->text("level").value_or("full"));
    return run_;
  }

 private:
  static std::vector<std::filesystem::path> files_of_ids(const TomlTable& data, const std::string& key) {
    std::vector<std::filesystem::path> files;
    const auto names = *data.one_or_more_texts(key);
    for (const std::string& each : names) files.push_back(data.path_in_folder(each));
    return files;
  }

  void read_data(const TomlTable& data) {
    const auto text = data.text("text");
    const bool tokens = data.has("tokens");
    if (text && tokens) refuse_key(data, "tokens", "data.text is given, too; keep one of the two");
    if (!text && !tokens) {
      refuse_key(data, "text", "is missing; name a UTF-8 file, a folder of .txt files, or files of ids as data.tokens");
    }
    if (text) {
      run_.data.text = data.path_in_folder(*text);
    } else {
      run_.data.tokens = files_of_ids(data, "tokens");
    }
    if (text && data.has("token_type")) {
      refuse_key(data, "token_type", "belongs to data.tokens; a text has one token a byte");
    }
    if (other_text_) {
      run_.data.text = other_text_;
      run_.data.tokens.clear();
      run_.data.token_type.reset();
    } else if (data.has("ignore")) {
      run_.data.ignore = files_of_ids(data, "ignore");
    }
    read_lengths(data);
    read_masked(data);
    read_validation(data);
  }

  /// Reads the kind of data that the run file uses, whatever replaces it.
  void read_validation(const TomlTable& data) {
    const auto evaluate = file_.table("evaluate");
    if (!data.has("validation")) {
      if (evaluate)
        refuse_key(data, "validation", "is missing, but there is a table [evaluate]; name the data to evaluate");
      if (data.has("validation_ignore"))
        refuse_key(data, "validation_ignore", "belongs to data.validation, which is missing");
      return;
    }
    DataSettings validation = run_.data;
    validation.shuffle = "none";
    validation.masked.clear();
    validation.ignore.clear();
    if (data.has("validation_ignore")) validation.ignore = files_of_ids(data, "validation_ignore");
    validation.text.reset();
    if (data.has("text")) {
      validation.text = data.path_in_folder(*data.text("validation"));
    } else {
      validation.tokens = files_of_ids(data, "validation");
      if (data.has("token_type")) validation.token_type = *data.text("token_type");
    }
    if (evaluate) {
      const auto given = validation.row_lengths;
      const std::int64_t microbatches = evaluate->integer("microbatches").value_or(std::ssize(given));
      validation.row_lengths.clear();
      for (std::int64_t m = 0; m < microbatches; ++m) {
        validation.row_lengths.push_back(given[static_cast<std::size_t>(m) % given.size()]);
      }
    }
    run_.validation = std::move(validation);
  }

  void read_lengths(const TomlTable& data) {
    const std::int64_t batch = data.integer("batch").value_or(1);
    auto rows = data.integer_rows("lengths");
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const std::vector<std::int64_t>& row = (*rows)[i];
      if (row.size() != 1 && std::ssize(row) != batch) {  // one number: all rows have this length
        refuse_key(data, "lengths",
                   "microbatch " + std::to_string(i) + " has " + std::to_string(row.size()) +
                       " row lengths, data.batch is " + std::to_string(batch));
      }
    }
    const auto given = std::ssize(*rows);
    const std::int64_t microbatches = data.integer("microbatches").value_or(given);
    if (microbatches < given) {
      refuse_key(data, "microbatches",
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
      refuse_key(data, "lengths", "asks for " + step + ", but the file with their tokens cannot be read");
    }
    require_memory(lengths, data.where("lengths") + ": a step of " + step);
  }

  void read_masked(const TomlTable& data) {
    for (const std::int64_t microbatch : run_.data.masked) {
      if (microbatch >= run_.microbatches()) {
        refuse_key(data, "masked",
                   "microbatch " + std::to_string(microbatch) + " does not exist; they are 0 to " +
                       std::to_string(run_.microbatches() - 1));
      }
    }
    if (std::ssize(run_.data.masked) == run_.microbatches()) {
      refuse_key(data, "masked", "leaves a step without a valid label; leave at least one microbatch unmasked");
    }
  }

  void read_train(const TomlTable& train) {
    TrainSettings& settings = run_.train;
    if (train.has("precision") && train.has("dtype"))
      refuse_key(train, "dtype", "is the old name of train.precision, which is given, too; keep one of the two");
    const std::string recompute = train.text("recompute").value_or("none");
    for (const Recompute each : {Recompute::layer, Recompute::attention, Recompute::mlp}) {
      if (recompute == to_text(each)) settings.recompute = each;
    }
    if (settings.warmup_steps > settings.steps) {
      refuse_key(
          train, "warmup_steps",
          "is " + std::to_string(settings.warmup_steps) + ", more than train.steps, " + std::to_string(settings.steps));
    }
    read_curve(train);
    read_optimizer(train);
  }

  void read_curve(const TomlTable& train) {
    TrainSettings& settings = run_.train;
    if (settings.curve == "constant" && train.has("final_factor")) {
      refuse_key(train, "final_factor",
                 "is given, and the curve constant has no end; remove it, or choose another curve");
    }
    if (settings.curve != "wsd") {
      if (train.has("decay_steps"))
        refuse_key(train, "decay_steps", "is a key of the curve wsd; remove it, or write curve = \"wsd\"");
      return;
    }
    const std::int64_t most = settings.steps - settings.warmup_steps;
    settings.decay_steps = train.integer("decay_steps").value_or(0);
    if (settings.decay_steps < 1 || settings.decay_steps > most) {
      refuse_key(train, "decay_steps",
                 "is " + std::to_string(settings.decay_steps) + "; the curve wsd needs 1 to " + std::to_string(most) +
                     ", the steps after the warm-up");
    }
  }

  void read_optimizer(const TomlTable& train) {
    const OptimizerSettings& settings = run_.train.optimizer;
    const bool is_adamw = settings.name == "adamw";
    const std::vector<std::string> keys_of_the_other =
        is_adamw ? std::vector<std::string>{"momentum"} : std::vector<std::string>{"beta1", "beta2", "eps"};
    for (const std::string& key : keys_of_the_other) {
      if (train.has(key)) {
        refuse_key(train, key,
                   "belongs to " + std::string(is_adamw ? "sgd" : "adamw") + "; " + settings.name + " takes " +
                       (is_adamw ? "beta1, beta2, eps and weight_decay" : "momentum and weight_decay"));
      }
    }
  }

  void read_replicas(const TomlTable& pipeline) {
    const std::int64_t replicas = run_.pipeline.replicas;
    if (run_.microbatches() % replicas == 0) return;
    refuse_key(pipeline, "replicas",
               "is " + std::to_string(replicas) + ", which does not divide the " + std::to_string(run_.microbatches()) +
                   " microbatches of a step; each replica takes an equal part");
  }

  void read_pipeline(const TomlTable& pipeline) {
    PipelineSettings& settings = run_.pipeline;
    // A name or a file; the schedules' own code checks names.
    if (settings.schedule.ends_with(".csv")) settings.schedule = pipeline.path_in_folder(settings.schedule).string();
    read_replicas(pipeline);
    if (!pipeline.has("balance")) return;
    if (pipeline.has("partition"))
      refuse_key(pipeline, "balance", "pipeline.partition is given, too; keep one of the two");
    settings.partition = "balance";
  }

  std::optional<std::filesystem::path> other_text_;
  TomlTable file_;
  RunFile run_;
};

}  // namespace

double OptimizerSettings::decay_of(std::int64_t dimensions) const {
  return decay == "matrices" && dimensions < 2 ? 0.0 : weight_decay;
}

void OptimizerSettings::use(const std::string& optimizer) {
  const auto& known = known_optimizers();
  if (std::ranges::find(known, optimizer) == known.end()) {
    throw InputError("optimizer \"" + optimizer + "\" is unknown; give one of " + join(known, ", ") +
                     did_you_mean(optimizer, known));
  }
  name = optimizer;
}

RunFile load_run_file(const std::filesystem::path& path, const std::optional<std::filesystem::path>& text,
                      const std::vector<std::string>& assignments) {
  return Reader(path, text, assignments).read();
}

}  // namespace plumbline
