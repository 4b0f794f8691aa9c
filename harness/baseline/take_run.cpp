// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/take_run.hpp"

#include <algorithm>
#include <optional>

#include "record/mesh.hpp"
#include "record/record_stream.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

void take_largest(std::map<std::string, std::int64_t>& kept, const char* name, std::optional<std::int64_t> bytes) {
  if (bytes) kept[name] = std::max(kept.contains(name) ? kept[name] : 0, *bytes);
}

/// Columns of tensor bytes that are equal in every run. Excludes memory of the process, buffers between ranks, and thus
/// the peak that includes buffers: these depend on the arrival of messages.
void take_memory(RankBytes& into, const MemoryRow& row, bool alone) {
  if (alone) take_largest(into.bytes, "peak_bytes", row.peak_bytes);
  take_largest(into.bytes, "parameter_bytes", row.parameter_bytes);
  take_largest(into.bytes, "gradient_bytes", row.gradient_bytes);
  take_largest(into.bytes, "optimizer_bytes", row.optimizer_bytes);
  take_largest(into.bytes, "activation_peak_bytes", row.activation_peak_bytes);
}

}  // namespace

RunBaseline take_run(const std::filesystem::path& folder, const std::string& id) {
  RunBaseline run;
  run.id = id;
  RecordStream stream(record_of_replica(folder, {}));
  const std::int64_t last = stream.record().manifest.steps - 1;
  run.ranks.resize(stream.record().ranks.size());
  for (const RankRecord& rank : stream.record().ranks)
    for (const SavedRow& row : rank.saved) run.saved_bytes[row.unit] += row.saved_bytes;
  std::vector<std::int64_t> peaks(run.ranks.size(), -1);
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    std::optional<double> norm;
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      const RankRecord& rank = stream.record().ranks[i];
      RankBytes& bytes = run.ranks[i];
      bytes.rank = rank.rank;
      for (const StepRow& row : rank.steps) {
        if (row.loss) run.losses.push_back(to_text(*row.loss));
        if (row.gradient_norm) norm = row.gradient_norm;
      }
      for (const MemoryRow& row : rank.memory) take_memory(bytes, row, run.ranks.size() == 1);
      for (const TrafficRow& row : rank.traffic) {
        if (row.side != "send") continue;
        bytes.bytes["sent_bytes"] += row.bytes;
        bytes.bytes["messages_sent"] += row.operations;
      }
      for (const ActionRow& row : rank.actions) {
        if (row.peak_bytes.value_or(-1) <= peaks[i]) continue;
        peaks[i] = *row.peak_bytes;
        bytes.peak_action = row.action;
      }
      for (const TensorRow& row : rank.tensors)
        if (row.kind == "parameter" && row.step == last)
          run.parameters[row.name] = row.digest;  // tied copies are equal by the check `tied_weights`
    }
    if (norm) run.gradient_norms.push_back(to_text(*norm));
  }
  return run;
}

}  // namespace plumbline
