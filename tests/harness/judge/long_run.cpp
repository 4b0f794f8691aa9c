// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/long_run.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "harness/judge/expected/model.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "record/columns.hpp"
#include "record/digest.hpp"
#include "record/manifest.hpp"
#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/csv.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "tests/harness/judge/long_run_values.hpp"

namespace plumbline::testing {
namespace {

using Units = std::vector<std::string>;

constexpr std::int64_t width = 4, positions = 4, tables = 2 * positions * 2 * 4;  // for head size 2

std::int64_t length_of(std::int64_t microbatch) {
  return microbatch % positions + 1;
}

/// Every other step is clipped.
double norm_of(std::int64_t step) {
  return step % 2 == 0 ? 2.0 : 0.5;
}

float loss_of(std::int64_t microbatch) {
  return 0.5F + 0.015625F * static_cast<float>(microbatch % 7);
}

/// One stage per rank: the embedding, one layer each, and the head on the last.
std::vector<Units> pipeline_stages(std::int64_t ranks) {
  std::vector<Units> stages = {{"embed_tokens"}};
  for (std::int64_t layer = 0; layer + 2 < ranks; ++layer) stages.push_back({"layers." + std::to_string(layer)});
  stages.push_back({"norm", "lm_head"});
  return stages;
}

std::vector<Units> one_stage_of(const std::vector<Units>& stages) {
  std::vector<Units> one(1);
  for (const auto& units : stages) one[0].insert(one[0].end(), units.begin(), units.end());
  return one;
}

class LongRunWriter {
 public:
  LongRunWriter(const LongRun& run, bool reference, const std::filesystem::path& folder)
      : run_(run),
        reference_(reference),
        folder_(folder),
        stages_(reference ? one_stage_of(pipeline_stages(run.ranks)) : pipeline_stages(run.ranks)) {
    Schedule list =
        make_schedule("1f1b", static_cast<std::int32_t>(stages_.size()), static_cast<std::int32_t>(run.microbatches));
    list.name = reference ? "sequential" : "1f1b";
    lists_ = lower(list, /*tied=*/false).ranks;
    const Json json = manifest(to_csv(list));
    claim_record_folder(folder);
    write_manifest(folder, json);
    write_schedule_csv(folder, to_csv(list));
    manifest_ = read_manifest(folder);
    map_ = judging::stage_map(manifest_);
    model_ = judging::expected_model(json.at("model"));
    rates_ = predicates::learning_rate_form(manifest_);
    for (std::int64_t m = 0; m < run.microbatches; ++m) {
      bytes_.push_back(length_of(m) * width * 4);
      tokens_ += length_of(m);
      for (const auto& unit : model_.units) saved_[{m, unit}] = saved(m, unit);
    }
  }

  RowsOfRun write() {
    for (std::size_t rank = 0; rank < stages_.size(); ++rank) write_rank(rank);
    return rows_;
  }

 private:
  Json manifest(const std::string& schedule_csv) const {
    Json stages = Json::array();
    for (std::size_t i = 0; i < stages_.size(); ++i)
      stages.push_back({{"stage", i}, {"rank", i}, {"units", stages_[i]}});
    return {{"schema", "plumbline-record/2"},
            {"run_id", new_run_id()},
            {"role", reference_ ? "reference" : "pipeline"},
            {"model",
             {{"model_type", "llama"},
              {"vocab_size", 8},
              {"hidden_size", width},
              {"intermediate_size", 6},
              {"num_hidden_layers", run_.ranks - 2},
              {"num_attention_heads", 2},
              {"num_key_value_heads", 1},
              {"head_dim", 2},
              {"tie_word_embeddings", false}}},
            {"seed", 1},
            {"dtype", "float32"},
            {"device", "cpu"},
            {"transport", "mpi"},
            {"world_size", stages_.size()},
            {"steps", run_.steps},
            {"data", {{"source", "synthetic"}, {"microbatches", run_.microbatches}}},
            {"schedule",
             {{"name", reference_ ? "sequential" : "1f1b"},
              {"chunks_per_rank", 1},
              {"microbatches", run_.microbatches},
              {"digest", hash_hex(schedule_csv)},
              {"accumulation", "ascending"},
              {"accumulation_digest", nullptr}}},
            {"stages", stages},
            {"tied", Json::array()},
            {"optimizer",
             {{"name", "adamw"},
              {"learning_rate", 0.001},
              {"beta1", 0.9},
              {"beta2", 0.99},
              {"eps", 1e-8},
              {"weight_decay", 0.1}}},
            {"learning_rate_schedule",
             {{"warmup_steps", 10}, {"start_factor", 0.1}, {"final_factor", 0.0}, {"total_steps", run_.steps}}},
            {"clip_norm", 1.0},
            {"clock_skew_ns", 0},
            {"level", full() ? "full" : "summary"},
            {"started", now_text()}};
  }

  SavedRow saved(std::int64_t microbatch, const std::string& unit) const {
    const auto bytes = 60 * length_of(microbatch);
    return {microbatch, unit, bytes, bytes + 100, bytes + 300, {}, {}, {}};
  }

  bool full() const { return run_.level == RecordLevel::full; }

  void write_rank(std::size_t number) {
    const auto rank = static_cast<std::int64_t>(number);
    RecordWriter writer(folder_, rank, run_.level, reference_);
    if (reference_) {
      for (const auto& [key, row] : saved_) writer.add(row);
      rows_.of_no_step += std::ssize(saved_);
      writer.flush();
    }
    const std::string memory = memory_cells(number), traffic = traffic_cells(number);
    const std::vector<std::string> actions = action_cells(number);
    const bool first = number == 0, last = number + 1 == stages_.size();
    Hasher data;
    Appended steps(writer, "steps.csv"), microbatches(writer, "microbatches.csv"), executed(writer, "actions.csv"),
        memories(writer, "memory.csv"), moved(writer, "traffic.csv");
    for (std::int64_t step = 0; step < run_.steps; ++step) {
      const std::string at = std::to_string(step) + ",";
      write_microbatches(at, step, first || last, last, data, microbatches.text);
      write_actions(at, step, actions, executed.text);
      memories.text += at + memory;
      for (const auto& line : lines_of(traffic)) moved.text += at + line;
      write_step(at, step, last, steps.text);
      for (auto* file : {&steps, &microbatches, &executed, &memories, &moved}) file->flush();
    }
    if (full()) write_values(writer, rank);
    const auto edges = std::ranges::count(traffic, '\n');
    rows_.each_step += 1 + run_.microbatches + std::ssize(actions) + 1 + edges;
    rows_.tables += edges > 0 ? 5 : 4;
    writer.finish({rank, "ok", 0, std::nullopt, to_text(lists_[number].back()),
                   first || last ? std::optional(data.hex()) : std::nullopt});
  }

  void write_values(const RecordWriter& writer, std::int64_t rank) {
    const LongRunValues values{model_, stages_, reference_, length_of, run_.microbatches, norm_of};
    Appended tensors(writer, "tensors.csv"), boundaries(writer, "boundaries.csv");
    rows_.of_start += values.add_tensors(-1, rank, tensors.text);
    std::int64_t each_step = 0;
    for (std::int64_t step = 0; step < run_.steps; ++step) {
      each_step = values.add_tensors(step, rank, tensors.text) + values.add_boundaries(step, rank, boundaries.text);
      tensors.flush();
      boundaries.flush();
    }
    rows_.each_step += each_step;
    rows_.tables += stages_.size() > 1 || reference_ ? 2 : 1;
  }

  /// A table of the writer, to which text is appended.
  struct Appended {
    Appended(const RecordWriter& writer, const char* name) : out(writer.folder() / name, std::ios::app) {}
    void flush() {
      if (text.size() < (1U << 20)) return;
      out << text;
      text.clear();
    }
    ~Appended() { out << text; }
    std::ofstream out;
    std::string text;
  };

  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin) + 1;
      lines.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    return lines;
  }

  void write_microbatches(const std::string& at, std::int64_t step, bool sees, bool last, Hasher& data,
                          std::string& text) const {
    for (std::int64_t m = 0; m < run_.microbatches; ++m) {
      const std::string length = std::to_string(length_of(m));
      const std::string digest =
          sees ? hash_hex("data " + std::to_string(step) + " " + std::to_string(m)) : std::string();
      data.update(digest);
      text += at + std::to_string(m) + "," + length + ",1," + length + "," + length + "," +
              (last ? to_text(loss_of(m)) : "") + "," + digest + "\n";
    }
  }

  void write_step(const std::string& at, std::int64_t step, bool last, std::string& text) const {
    const double norm = norm_of(step);
    float loss = 0;
    for (std::int64_t m = 0; m < run_.microbatches; ++m) loss += loss_of(m);
    const std::string tokens = std::to_string(tokens_);
    text += at + (last ? to_text(loss) : "") + "," + to_text(norm) + "," + to_text(std::min(1.0, 1.0 / norm)) + "," +
            to_text(rates_->at(step)) + "," + tokens + "," + tokens + ",6,0.5,\n";
  }

  static void write_actions(const std::string& at, std::int64_t step, const std::vector<std::string>& actions,
                            std::string& text) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto split = actions[i].find('|');
      text.append(at).append(actions[i], 0, split);
      const std::int64_t begin = 1'000'000'000 * step + 1000 * static_cast<std::int64_t>(i);
      text.append(std::to_string(begin)).append(",").append(std::to_string(begin + 900)).append(",0,");
      text.append(actions[i], split + 1);
    }
  }

  /// Text before and after an action's times, separated by "|".
  std::vector<std::string> action_cells(std::size_t rank) const {
    const auto peaks = judging::predict_peaks(lists_[rank], map_, saved_, bytes_);
    std::vector<std::string> cells;
    std::size_t computed = 0;
    for (std::size_t i = 0; i < lists_[rank].size(); ++i) {
      const Action& action = lists_[rank][i];
      const bool compute = is_compute(action.type);
      cells.push_back(std::to_string(i) + "," + to_text(action) + "," + std::to_string(action.stage) + "," +
                      (action.microbatch == no_microbatch ? "" : std::to_string(action.microbatch)) + ",|" +
                      (compute ? std::to_string(peaks[computed++]) : "") + "\n");
    }
    return cells;
  }

  std::string memory_cells(std::size_t rank) const {
    const auto state = *judging::state_bytes(model_, stages_[rank], manifest_);
    const std::int64_t activations = std::ranges::max(judging::predict_peaks(lists_[rank], map_, saved_, bytes_));
    MemoryRow row;
    row.parameter_bytes = state.parameters;
    row.gradient_bytes = state.gradients;
    row.optimizer_bytes = state.optimizer;
    row.activation_peak_bytes = activations;
    row.buffer_bytes = reference_ ? 0 : 48;
    row.process_peak_bytes = 1 << 27;
    row.live_bytes = state.parameters + state.gradients + state.optimizer;
    row.peak_bytes = *row.live_bytes + activations;
    auto cells = cells_of(row);
    cells.erase(cells.begin());
    return csv_line(cells);
  }

  std::string traffic_cells(std::size_t rank) const {
    std::string text;
    for (const auto& [edge, moved] : judging::expected_traffic(lists_[rank], map_, bytes_))
      text += std::to_string(edge.peer) + "," + edge.direction + "," + edge.side + "," +
              std::to_string(moved.operations) + "," + std::to_string(moved.bytes) + "\n";
    return text;
  }

  LongRun run_;
  bool reference_;
  std::filesystem::path folder_;
  std::vector<Units> stages_;
  std::vector<ActionList> lists_;
  Manifest manifest_;
  judging::StageMap map_;
  judging::ExpectedModel model_;
  std::optional<predicates::LearningRateForm> rates_;
  judging::SavedTable saved_;
  std::vector<std::int64_t> bytes_;  ///< of a boundary tensor, by microbatch
  std::int64_t tokens_ = 0;
  RowsOfRun rows_;
};

}  // namespace

RowsOfRun write_long_reference(const LongRun& run, const std::filesystem::path& folder) {
  return LongRunWriter(run, true, folder).write();
}

RowsOfRun write_long_pipeline(const LongRun& run, const std::filesystem::path& folder) {
  return LongRunWriter(run, false, folder).write();
}

}  // namespace plumbline::testing
