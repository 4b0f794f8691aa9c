// SPDX-License-Identifier: BSD-3-Clause
// What the recorder of another trainer could not see, by its own words: `not_recorded` of manifest.json and exit.json.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

class JsonKeys;

struct NotRecorded {
  std::string what;  ///< one of kinds_of_rows()
  std::string why;   ///< for people: "torch 2.16.0 has no PipelineStage.get_fwd_recv_ops"

  friend bool operator==(const NotRecorded&, const NotRecorded&) = default;
};

/// What `what` may say: sends, receives, boundaries, actions, schedule, waits, losses, gradients, norm, parameters,
/// moments, rates, inputs, labels.
const std::vector<std::string>& kinds_of_rows();

/// Empty where the key is absent. Throws InputError naming file and key.
std::vector<NotRecorded> read_not_recorded(const JsonKeys& keys);

/// Whether one of `kinds` is in the list.
bool lists_any(const std::vector<NotRecorded>& list, const std::vector<std::string>& kinds);

}  // namespace plumbline
