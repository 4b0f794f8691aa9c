// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/checkpoint_file.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "record/precision.hpp"
#include "support/json_text.hpp"
#include "support/paths.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/manifest.hpp"
#include "training/microbatch.hpp"

namespace plumbline {
namespace {

/// A setting that --set may change when a run is resumed.
struct ChangeableSetting {
  std::string_view place;  ///< in the flattened training_settings
  std::string_view key;    ///< of the run file
};
constexpr std::array changeable_settings{
    ChangeableSetting{"/train/optimizer/learning_rate", "train.learning_rate"},
    ChangeableSetting{"/train/optimizer/weight_decay", "train.weight_decay"},
    ChangeableSetting{"/train/clip_norm", "train.clip_norm"},
    ChangeableSetting{"/train/curve", "train.curve"},
    ChangeableSetting{"/train/final_factor", "train.final_factor"},
};

}  // namespace

Json training_settings(const Run& run) {
  const TrainSettings& train = run.train;
  const DataSettings& data = run.file.data;
  Json settings;
  settings["model"] = run.config.source;
  settings["train"] = {{"seed", train.seed},
                       {"dtype", train.dtype},
                       {"optimizer", optimizer_json(train.optimizer)},
                       {"warmup_steps", train.warmup_steps},
                       {"start_factor", train.start_factor},
                       {"final_factor", train.final_factor},
                       {"threads", train.threads},
                       {"clip_norm", train.clip_norm ? Json(*train.clip_norm) : Json(nullptr)}};
  if (train.curve != "cosine") settings["train"]["curve"] = train.curve;
  settings["data"] = {{"seed", data.seed}, {"lengths", data.row_lengths}, {"masked", data.masked}};
  // Written only if not the default, so that checkpoints older than this setting remain usable.
  if (data.shuffle != "none") settings["data"]["shuffle"] = data.shuffle;
  if (!data.ignore.empty()) settings["data"]["ignore"] = true;
  settings["data"]["source_tokens"] = run.batches.source_tokens();
  // The digest covers only the start of the text: another text has another first microbatch.
  settings["data"]["first_microbatch_digest"] = data_digest(run.batches.make(0, 0));
  return settings;
}

Json changes_of_settings(const CheckpointFile& checkpoint, const Run& run, const std::filesystem::path& folder) {
  const Json now = training_settings(run).flatten(), then = checkpoint.settings.flatten();
  const auto value_of = [](const Json& settings, const std::string& key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string("absent") : json_text(*found);
  };
  Json changes = checkpoint.changes;
  const auto require_same = [&](const std::string& key) {
    if (value_of(then, key) == value_of(now, key)) return;
    const auto* const changeable = std::ranges::find(changeable_settings, key, &ChangeableSetting::place);
    std::string way_out =
        "; only these may change: train.steps, train.recompute, [pipeline], [evaluate], "
        "data.validation, [record] and [checkpoint]";
    if (changeable != changeable_settings.end()) {
      if (std::ranges::find(run.assigned, changeable->key) != run.assigned.end()) {
        changes.push_back({{"step", checkpoint.steps},
                           {"key", changeable->key},
                           {"from", value_of(then, key)},
                           {"to", value_of(now, key)}});
        return;
      }
      way_out = "; to change it from here on, give --set " + std::string(changeable->key) + "=" + value_of(now, key);
    }
    std::string name = key.substr(1);
    for (char& c : name) c = c == '/' ? '.' : c;
    throw UnfitCheckpoint(folder.string() + ": was trained with " + name + " = " + value_of(then, key) + ", and " +
                          run.file.path.string() + " has " + value_of(now, key) + way_out +
                          ". Use the run file it was started with, or start again with model.weights = \"" +
                          folder.string() + "\"");
  };
  const std::string digest = "/data/first_microbatch_digest";
  std::set<std::string> keys;
  for (const Json* one : {&then, &now})
    for (const auto& [key, value] : one->items()) keys.insert(key);
  keys.erase(digest);
  for (const std::string& key : keys) require_same(key);
  require_same(digest);  // last, since any other data setting changes it too
  return changes;
}

Json saved_config(const Json& settings) {
  Json config = settings.at("model");
  config["torch_dtype"] = trained_dtype(settings.at("train").at("dtype").get<std::string>());
  config.erase("dtype");
  return config;
}

void require_own_config(const CheckpointFile& checkpoint, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  const Json found = read_json(path).flatten(), written = saved_config(checkpoint.settings).flatten();
  for (const auto& [one, other] : {std::pair{&written, &found}, std::pair{&found, &written}}) {
    for (const auto& [key, value] : one->items()) {
      if (const auto same = other->find(key); same != other->end() && *same == value) continue;
      throw InputError(path.string() + ": " + key.substr(1) + " is not what was written with the checkpoint (" +
                       checkpoint_file_name +
                       " has its model): the file belongs to another model, or was changed since");
    }
  }
}

void write_checkpoint_file(const std::filesystem::path& folder, const CheckpointFile& file) {
  write_json(folder / checkpoint_file_name, {{"schema", checkpoint_schema},
                                             {"steps", file.steps},
                                             {"training", file.settings},
                                             {"changes", file.changes},
                                             {"written_by", file.written_by},
                                             {"digests", file.digests}});
}

CheckpointFile read_checkpoint_file(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / checkpoint_file_name;
  if (path_exists(folder) && !path_exists(path))
    throw InputError(folder.string() + ": has no " + checkpoint_file_name +
                     ", which is written last: it is an incomplete checkpoint, or none");
  const Json json = read_json(path);
  const auto fail = [&](const std::string& what) { throw InputError(path.string() + ": " + what); };
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string()) fail("is not a checkpoint.json");
  const std::string schema = json["schema"];
  if (schema != checkpoint_schema && schema.starts_with(checkpoint_family)) {
    throw UnfitCheckpoint(path.string() + ": schema " + schema + " is not known: it was written by a newer version; " +
                          "this one reads " + checkpoint_schema);
  }
  if (schema != checkpoint_schema) fail("schema " + schema + " is not a checkpoint's");
  CheckpointFile file;
  const bool whole = json.contains("steps") && json["steps"].is_number_integer() && json["steps"] >= 1 &&
                     json.contains("training") && json["training"].is_object() && json.contains("digests") &&
                     json["digests"].is_object();
  if (!whole) fail("lacks steps, training or digests");
  file.steps = json["steps"];
  if (const auto named = steps_of_name(folder); named && *named != file.steps)
    fail("steps is " + std::to_string(file.steps) + ", but the folder's name says " + std::to_string(*named));
  file.settings = json["training"];
  file.changes = json.value("changes", Json::array());
  if (!file.changes.is_array()) fail("changes is not a list");
  file.written_by = json.value("written_by", Json::object());
  if (!file.written_by.is_object() || !file.written_by.value("run_id", Json("")).is_string())
    fail("written_by is not an object, or its run_id not a string");
  for (const auto& [name, digest] : json["digests"].items()) {
    if (!digest.is_string()) fail("digest of " + name + " is not a string");
    file.digests[name] = digest.get<std::string>();
  }
  return file;
}

}  // namespace plumbline
