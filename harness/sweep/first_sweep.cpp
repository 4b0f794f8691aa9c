// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/first_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// Replaces the value of the first of these options that the command has. Returns the value.
std::optional<std::string> replace_value(Words& words, const Words& options, const std::string& placeholder) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const std::string& option : options) {
      if (words[i] == option && i + 1 < words.size()) return std::exchange(words[i + 1], placeholder);
      const std::string begin = option + "=";
      if (words[i].starts_with(begin)) return std::exchange(words[i], begin + placeholder).substr(begin.size());
    }
  }
  return std::nullopt;
}

bool has(const Words& words, const std::string& part) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

/// The option's value, or the option at the end.
void place(Words& words, const std::string& option, const std::string& placeholder) {
  if (has(words, placeholder) || replace_value(words, {option}, placeholder)) return;
  words.insert(words.end(), {option, placeholder});
}

/// Behind the words of torch's launcher; 0 for another one.
std::size_t end_of_torchrun(const Words& words) {
  if (fs::path(words.front()).filename() == "torchrun") return 1;
  const auto found = std::ranges::find(words, "torch.distributed.run");
  return found == words.end() ? 0 : static_cast<std::size_t>(found - words.begin()) + 1;
}

/// The number of ranks in the command, which {world} replaces.
std::optional<std::int64_t> place_world(Words& words) {
  const std::string program = fs::path(words.front()).filename();
  const bool launcher = program == "mpirun" || program == "mpiexec" || program == "srun";
  Words options = {"--nproc-per-node", "--nproc_per_node", "--ntasks", "--ranks"};
  if (launcher) options.insert(options.end(), {"-n", "-np", "--np"});  // of a trainer they mean something else
  Words changed = words;
  const auto value = replace_value(changed, options, "{world}");
  const auto number = value ? parse_integer(*value) : std::nullopt;
  if (number) words = changed;
  return number;
}

/// A list of TOML.
std::string list_text(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + json_text(Json(word));
  return "[" + text + "]";
}

}  // namespace

FirstSweep first_sweep(Words reference, Words candidate, std::optional<std::int64_t> ranks) {
  for (const auto& [words, option] : {std::pair(&reference, "--reference"), {&candidate, "--candidate"}}) {
    if (words->empty()) throw InputError(std::string(option) + ": is empty; give the command that trains");
  }
  FirstSweep sweep;
  place(reference, "--record", "{record}");
  place(reference, "--level", "{level}");
  place(reference, "--norms-from", "{norms_from}");
  if (const auto number = place_world(candidate); number && !ranks) ranks = number;
  if (!ranks && !has(candidate, "{world}"))
    throw InputError(
        "--candidate: the command does not say how many ranks it starts; give --ranks N, or write {world} where the "
        "number belongs");
  sweep.world_sizes = {ranks.value_or(2)};
  if (const auto schedule = replace_value(candidate, {"--schedule"}, "{schedule}");
      schedule && *schedule != "{schedule}")
    sweep.schedules = {*schedule};
  if (has(candidate, "{schedule}") && sweep.schedules.empty()) sweep.schedules = {"1F1B"};
  const std::size_t behind = end_of_torchrun(candidate);
  if (!replace_value(candidate, {"--master-port", "--master_port"}, "{port}") && behind > 0 &&
      !has(candidate, "--standalone") && !has(candidate, "--rdzv"))
    candidate.insert(candidate.begin() + static_cast<std::ptrdiff_t>(behind), "--master-port={port}");
  place(candidate, "--record", "{record}");
  place(candidate, "--level", "{level}");
  sweep.reference = std::move(reference);
  sweep.candidate = std::move(candidate);
  return sweep;
}

bool remove_option(FirstSweep& sweep, const std::string& option) {
  bool removed = false;
  for (Words* words : {&sweep.reference, &sweep.candidate}) {
    const auto found = std::ranges::find(*words, option);
    if (found == words->end()) continue;
    words->erase(found, std::min(found + 2, words->end()));
    removed = true;
  }
  return removed;
}

std::string text_of(const FirstSweep& sweep) {
  const bool replays = has(sweep.reference, "{norms_from}"), levels = has(sweep.reference, "{level}");
  std::string text =
      "# Trains on one device and as a pipeline, and compares the records bit for bit (docs/sweep-file.md).\n";
  text += "# {record}: the folder of the run's record.\n";
  if (levels)
    text += "# {level}: full; dump when a failed case is run again, to name the first element that differs.\n";
  if (replays) text += "# {norms_from}: empty, or the pipeline's record, by whose norms the reference then clips.\n";
  text += "reference = " + list_text(sweep.reference) + "\n";
  text += "candidate = " + list_text(sweep.candidate) + "\n\n";
  text += fmt::format("world_sizes = [{}]  # ranks of the pipeline; more than one: [2, 4]\n",
                      join(sweep.world_sizes, ", "));
  if (!sweep.schedules.empty())
    text += "schedules = " + list_text(sweep.schedules) + "  # by the trainer's own names\n";
  return text + "time_limit_s = 300  # of one run\n";
}

std::map<std::string, std::string> first_files_for_text(const fs::path& text) {
  constexpr std::int64_t rows = 2, microbatches = 4, longest = 64, shortest = 8;
  std::error_code error;
  std::int64_t bytes = 0;
  if (folder_exists(text)) {
    for (const auto& each : files_matching(text / "*.txt")) bytes += static_cast<std::int64_t>(fs::file_size(each));
  } else {
    if (!path_exists(text)) throw InputError("--text " + text.string() + ": no such file");
    bytes = static_cast<std::int64_t>(fs::file_size(text, error));
  }
  const std::int64_t length = std::min(longest, (bytes - 1) / (rows * microbatches));
  if (error || length < shortest)
    throw InputError(fmt::format("--text {}: has {} bytes; a first sweep needs {} or more", text.string(), bytes,
                                 shortest * rows * microbatches + 1));
  const Json config{{"architectures", {"LlamaForCausalLM"}},
                    {"model_type", "llama"},
                    {"vocab_size", 256},
                    {"hidden_size", 64},
                    {"intermediate_size", 128},
                    {"num_hidden_layers", 4},
                    {"num_attention_heads", 4},
                    {"num_key_value_heads", 2},
                    {"max_position_embeddings", longest},
                    {"rms_norm_eps", 1e-5},
                    {"tie_word_embeddings", true}};
  const std::string run = fmt::format(R"(# What is trained (docs/run-file.md).
[model]
config = "config.json"  # a Llama; one id a byte, so vocab_size is 256

[data]
text = {}
lengths = [{}, {}, {}, 1]  # tokens of a row, one number a microbatch
batch = {}  # rows of a microbatch
masked = [1]  # microbatches without a label, which a pipeline must bear, too

[train]
steps = 4
optimizer = "adamw"
learning_rate = 1e-3
clip_norm = 1.0
)",
                                      json_text(Json(text.string())), length, length / 2, length, rows);
  return {{"config.json", json_text(config, 2) + "\n"},
          {"run.toml", run},
          {"sweep.toml",
           "# Which runs are made (docs/sweep-file.md): each schedule at each number of ranks.\n"
           "run = [\"run.toml\"]\nworld_sizes = [1, 2, 4]\nschedules = [\"1f1b\", \"zb-h1\"]\n"}};
}

}  // namespace plumbline
