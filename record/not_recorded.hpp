// SPDX-License-Identifier: BSD-3-Clause
// What the recorder of an external trainer could not see, as it states in `not_recorded` of manifest.json and
// exit.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

class JsonKeys;

struct NotRecorded {
  std::string what;                            ///< one of kinds_of_rows()
  std::string why;                             ///< for people: "torch 2.16.0 has no PipelineStage.get_fwd_recv_ops"
  std::optional<std::int64_t> from_step = {};  ///< the first step without it; nullopt: all steps

  friend bool operator==(const NotRecorded&, const NotRecorded&) = default;
};

/// Valid values of `what`: sends, receives, boundaries, actions, schedule, waits, losses, gradients, norm, parameters,
/// moments, rates, inputs, labels, applied, buffers.
const std::vector<std::string>& kinds_of_rows();

/// Empty if the key is absent. Throws InputError naming file and key.
std::vector<NotRecorded> read_not_recorded(const JsonKeys& keys);

/// True if the list has one of `kinds`.
bool lists_any(const std::vector<NotRecorded>& list, const std::vector<std::string>& kinds);

}  // namespace plumbline
