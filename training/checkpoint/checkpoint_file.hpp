// SPDX-License-Identifier: BSD-3-Clause
// checkpoint.json: the settings of a checkpoint and the digests of its tensors (docs/checkpoints.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "support/error.hpp"
#include "support/json.hpp"
#include "training/run.hpp"

namespace plumbline {

inline constexpr const char* checkpoint_file_name = "checkpoint.json";
inline constexpr const char* checkpoint_family = "plumbline-checkpoint/";
inline constexpr const char* checkpoint_schema = "plumbline-checkpoint/1";

/// A complete checkpoint of another training or a newer format; an older checkpoint must not be used in its place.
class UnfitCheckpoint : public InputError {
 public:
  using InputError::InputError;
};

struct CheckpointFile {
  std::int64_t steps = 0;        ///< completed steps; the next step has index `steps`
  Json settings;                 ///< training_settings of the run that wrote it
  Json changes = Json::array();  ///< of settings, since the training began: ResumedFrom::changes
  Json written_by;               ///< run_id, ranks and commit, for people
  /// By name in the files: "model.norm.weight", "moment1/model.norm.weight".
  std::map<std::string, std::string> digests;
};

/// The settings that must not change when a run is resumed, since the bits depend on them: model, data, and the table
/// [train] except `steps` and `recompute`.
Json training_settings(const Run& run);
/// Returns the checkpoint's changes and those that --set makes, of the keys that may change. Throws UnfitCheckpoint
/// naming the first other setting that differs, and both values.
Json changes_of_settings(const CheckpointFile& checkpoint, const Run& run, const std::filesystem::path& folder);

/// A checkpoint's config.json, from its training_settings: the model's, with the dtype of the saved tensors.
Json saved_config(const Json& settings);
/// Throws InputError if the folder's config.json is missing, broken or changed.
void require_own_config(const CheckpointFile& checkpoint, const std::filesystem::path& folder);

void write_checkpoint_file(const std::filesystem::path& folder, const CheckpointFile& file);
/// Throws InputError if it is missing or incomplete; UnfitCheckpoint if its format is newer.
CheckpointFile read_checkpoint_file(const std::filesystem::path& folder);

}  // namespace plumbline
