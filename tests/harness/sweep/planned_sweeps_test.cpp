// SPDX-License-Identifier: BSD-3-Clause
// From a sweep file to its cases, their requests, run files, commands and inputs, before anything is started: the cases
// of tests/approved/plans.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "harness/judge/judge.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/prepared_sweep.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_inputs.hpp"
#include "harness/sweep/run_size.hpp"
#include "harness/sweep/run_variant.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "reports/words.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "tests/approved.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/session.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

const char* const llama_config = R"({"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4,
 "intermediate_size": 6, "num_attention_heads": 2, "num_hidden_layers": 5, "num_key_value_heads": 1,
 "rms_norm_eps": 1e-5, "vocab_size": 256, "max_position_embeddings": 16, "tie_word_embeddings": false}
)";

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
}

/// Each key with its value, except those of `usual`.
void print_keys(const std::string& of, const Json& json, const Json& usual = Json::object()) {
  for (const auto& [key, value] : json.items())
    if (!usual.contains(key) || usual.at(key) != value) print(of + "  " + key + " " + value.dump());
}

class PlanSession : public Session {
 public:
  PlanSession() {
    add("plan", [this](const Words& words) { return plan(planned(words)); });
    add("kept", [this](const Words& words) { return kept(planned(words)); });
    add("titles", [this](const Words& words) { return titles(planned(words)); });
    add("requests", [this](const Words& words) { return requests(planned(words)); });
    add("run-files", [this](const Words& words) { return run_files(planned(words)); });
    add("commands", [this](const Words& words) { return commands(planned(words)); });
    add("changed", [this](const Words& words) { return changed(words); });
    add("sizes", [this](const Words& words) { return sizes(planned(words)); });
  }

 private:
  void start(const std::string& word) override {
    if (word == "commands") {
      program(folder_, "train.sh", "exit 0\n");
      folder_.file("theirs", R"(reference = ["./train.sh", "{record}"]
candidate = ["./train.sh", "{record}", "{world}"]
)");
      folder_.file("theirs-how", R"(reference = ["./train.sh", "{record}"]
candidate = ["./train.sh", "{record}", "{world}", "{how}"]
)");
      return;
    }
    if (word == "ours") start_ours();
    folder_.file("models/small/config.json", word == "llama" ? llama_config : "{\"num_hidden_layers\": 5}\n");
    folder_.file("t.txt", "to be");
    folder_.file("a.toml", R"([model]
config = "models/small/config.json"
[data]
text = "t.txt"
lengths = [4, 8]
[train]
steps = 5
[pipeline]
schedule = "afab"
)");
    if (word == "ours")
      folder_.file("a.toml", R"([model]
config = "models/small/config.json"
weights = "model.safetensors"
[data]
tokens = "ids.bin"
validation = "held_out.bin"
lengths = [4, 8]
[train]
steps = 5
)");
  }
  /// A case of Plumbline's own trainers that is resumed.
  void start_ours() {
    for (const char* each : {"ours/plumbline-reference", "ours/plumbline-pipeline", "launch"})
      program(folder_, each, "exit 0\n");
    for (const char* each : {"model.safetensors", "ids.bin", "ids.idx", "held_out.bin"}) folder_.file(each, "1");
    folder_.file("first.csv", "0F0,0F1,0B0,0B1\n");
    for (const char* each : {"cell.csv", "late.csv"}) folder_.file(each, "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
    folder_.file("s.toml", "launcher = \"" + (folder_ / "launch").string() + R"( -n {world}"
[[cell]]
run = "a.toml"
world_size = 1
schedule = "first.csv"
resume_at = 2
resume_world = 2
resume_schedule = "cell.csv"
)");
  }

  SweepPlan planned(const Words& words) {
    CLI::App app;
    std::string file;
    std::vector<std::string> cells, shard;
    app.add_option("file", file);
    app.add_option("--cells", cells);
    app.add_option("--shard", shard)->delimiter('/');
    app.parse(Words(words.rbegin(), words.rend() - 1));
    file_ = read_sweep_file(file);
    SweepPlan plan = make_plan(file_);
    ids_.clear();
    for (const PlannedCell& each : plan.cells) ids_.push_back(each.plan.id);
    if (!cells.empty()) plan = select_cells(plan, cells);
    if (!shard.empty()) plan = select_shard(plan, {std::stoll(shard.at(0)), std::stoll(shard.at(1))});
    return plan;
  }

  int plan(const SweepPlan& plan) {
    for (const PlannedReference& each : plan.references) {
      print("reference " + each.id + ": " + each.run.filename().string() +
            (each.splits_backward ? ", splits backward" : ""));
      std::string order = each.accumulation;
      std::ranges::replace(order, '\n', ' ');
      if (!order.empty()) print("  order " + order);
    }
    for (const PlannedCell& each : plan.cells) {
      const std::int64_t chunks = each.placement.chunks_per_rank;
      print(each.plan.id + (chunks > 1 ? ": " + std::to_string(chunks) + " stages a rank" : ""));
      CellPlan usual;
      usual.id = each.plan.id;
      print_keys("", to_json(each.plan), to_json(usual));
      if (const auto& first = each.resumes_from)
        print("  resumes " + std::to_string(first->steps) + " steps of " + first->schedule + " of world " +
              std::to_string(first->world));
    }
    for (const std::string& each : plan.not_applicable) print("not applicable: " + each);
    return 0;
  }

  /// What a sweep's folder keeps of its plan, to be judged again.
  int kept(const SweepPlan& plan) {
    const KeptSweep kept = kept_sweep(file_, plan, ids_);
    Json json = to_json(kept);
    const fs::path file = folder_.file("sweep.json", Json{{"name", kept.name}, {"plan", json}}.dump());
    EXPECT_EQ(to_json(read_kept_sweep(file)), json);
    EXPECT_EQ(read_kept_sweep(file).name, file_.name);
    EXPECT_EQ(read_kept_sweep(file).selection.cells, std::ssize(plan.cells));
    print("name " + kept.name + ", " + std::to_string(kept.selection.cells) + " cases");
    json.erase("cells");
    print_keys("", json);
    for (const KeptReference& each : kept.references())
      print("reference " + each.id + ": " + each.run + ", " + each.model + ", " + each.optimizer +
            (each.bench ? ", bench" : "") + (each.equal_lengths ? ", equal lengths" : ""));
    return 0;
  }

  static int titles(const SweepPlan& plan) {
    for (const PlannedCell& each : plan.cells) print(cell_title(judge_cell(each.plan, "no-reference", "no-candidate")));
    return 0;
  }

  int requests(const SweepPlan& plan) const {
    for (const PlannedReference& each : plan.references)
      print_keys("reference-" + each.id, to_json(make_request(file_, each)));
    for (const PlannedCell& each : plan.cells) print_keys(each.plan.id, to_json(make_request(file_, each)));
    return 0;
  }

  int run_files(const SweepPlan& plan) const {
    const fs::path place = fs::current_path() / "out/launches/x";
    for (const PlannedReference& each : plan.references)
      print("# reference-" + each.id + "\n" + reference_run(each.run, each.changes, place));
    for (const PlannedCell& each : plan.cells)
      print("# " + each.plan.id + "\n" + pipeline_run(each.run, each.changes, each.schedule, place));
    return 0;
  }

  int commands(const SweepPlan& plan) const {
    const fs::path place = "out/launches/x", record = "RECORD";
    const RunCommands commands(file_, fs::current_path());
    const auto show = [&](const std::string& id, const PlannedCommand& command) {
      const LaunchPlace here{record, 29500, launcher_words(file_.launcher, command.ranks)};
      const StartedCommand started = started_command(command, here);
      std::string line = id + " on " + std::to_string(command.ranks) + ":";
      for (const auto& [name, value] : started.environment) line += " " + name + "=" + value;
      for (const std::string& word : started.words) line += " [" + word + "]";
      print(line);
    };
    for (const PlannedReference& each : plan.references) show("reference-" + each.id, commands.of(each, place));
    for (const PlannedCell& each : plan.cells) show(each.plan.id, commands.of(each, place));
    return 0;
  }

  /// What a run is made from that the last call found otherwise.
  int changed(const Words& words) {
    try {
      if (prepared_) prepared_->inputs.require_unchanged();
    } catch (const SystemError& error) {
      print(error.what());
    }
    SweepOptions options;
    options.sweep_file = words.at(1);
    options.trainers = "ours";
    PreparedSweep now = prepare_sweep(options);
    EXPECT_NE(now.plan.cells.at(0).inputs.at("the processor"), hash_hex("")) << "the machine names its processor";
    const auto compare = [](const std::string& id, const RunInputs& before, const RunInputs& after) {
      std::string names;
      for (const auto& [name, hash] : after)
        if (!before.contains(name) || before.at(name) != hash) names += ", " + name;
      for (const auto& [name, hash] : before)
        if (!after.contains(name)) names += ", without " + name;
      if (!names.empty()) print(id + names.replace(0, 1, ":"));
      EXPECT_EQ(first_difference(before, after).has_value(), !names.empty());
    };
    for (std::size_t i = 0; i < now.plan.references.size(); ++i)
      compare("reference-" + now.plan.references[i].id,
              prepared_ ? prepared_->plan.references.at(i).inputs : RunInputs(), now.plan.references[i].inputs);
    for (std::size_t i = 0; i < now.plan.cells.size(); ++i)
      compare(now.plan.cells[i].plan.id, prepared_ ? prepared_->plan.cells.at(i).inputs : RunInputs(),
              now.plan.cells[i].inputs);
    prepared_ = std::move(now);
    return 0;
  }

  int sizes(const SweepPlan& plan) const {
    for (const PlannedReference& each : plan.references) {
      const RunSize size = run_size(file_, each);
      const std::vector<std::pair<const char*, double>> numbers = {
          {"parameters", size.parameters}, {"tokens", size.tokens},      {"microbatches", size.microbatches},
          {"steps", size.steps},           {"states", size.states},      {"hidden", size.hidden},
          {"layers", size.layers},         {"bytes", size.element_bytes}};
      std::string line = each.id + ":";
      for (const auto& [name, number] : numbers) line += std::string(" ") + name + " " + to_text(number);
      print(line);
    }
    const auto disk = disk_estimate(file_, plan);
    print("on disk: " + (disk ? to_text(*disk) : "unknown"));
    return 0;
  }

  SweepFile file_;
  std::vector<std::string> ids_;  ///< of all cases
  std::optional<PreparedSweep> prepared_;
};

class PlannedSweeps : public ::testing::TestWithParam<const char*> {};

TEST_P(PlannedSweeps, AreAsApproved) {
  expect_answers(std::string("plans/") + GetParam() + ".txt",
                 [](const std::string& lines) { return PlanSession().answer(lines); });
}

INSTANTIATE_TEST_SUITE_P(Plans, PlannedSweeps,
                         ::testing::Values("cases", "commands", "inputs", "refused", "requests", "run-files",
                                           "schedule-files", "sizes"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace plumbline::testing
