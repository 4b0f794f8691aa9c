// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_file.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/json_text.hpp"
#include "tests/approved.hpp"
#include "tests/paths.hpp"
#include "tests/token_file_bytes.hpp"
#include "training/run.hpp"
#include "training/run_description.hpp"
#include "training/run_keys.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

constexpr const char* model = "[model]\nconfig = \"models/a/config.json\"\n";
constexpr const char* data = "[data]\ntext = \"corpus/\"\nlengths = [8, 4]\n";
constexpr const char* train = "[train]\nsteps = 5\n";

TEST(RunFile, SchemaMatchesTheReadersKeys) {
  testing::expect_approved("../../docs/schemas/run.schema.json", json_text(run_file_schema(), 2) + "\n");
}

/// What a run file may name: a model with 512 positions, texts and ids of 1000 tokens, and a mask for 3000.
void write_inputs(const TemporaryFolder& folder) {
  folder.file("models/a/config.json", testing::bytes_of(testing::fixtures_path() + "/models/stories260k/config.json"));
  for (const char* text : {"corpus/corpus.txt", "short.txt"}) folder.file(text, std::string(1000, 'x'));
  for (const char* name : {"ids.bin", "wide/1.bin", "wide/2.bin"})
    folder.file(name, testing::numbers(std::vector<std::uint32_t>(1000, 7)));
  folder.file("labels.mask", std::string(3000, '\0'));
}

/// Its settings, one a line.
std::vector<std::string> settings_of(const plumbline::Run& run) {
  std::vector<std::string> lines;
  const Json settings = resolved_run(run);
  for (const auto& [table, keys] : settings.items()) {
    if (!keys.is_object()) {
      lines.push_back(table + " = " + keys.dump());
      continue;
    }
    for (const auto& [key, value] : keys.items())
      if (table != "model" || key == "config" || key == "weights")
        lines.push_back(table + "." + key + " = " + value.dump());
  }
  return lines;
}

// Cases use the tables of a valid file, unless they have their own or leave them out.
TEST(RunFile, ReadsAndRefusesRunFiles) {
  const TemporaryFolder folder;
  write_inputs(folder);
  const auto load = [&](const std::string& text, const std::optional<std::filesystem::path>& replacement = {}) {
    return settings_of(load_run(folder.file("run.toml", text), replacement));
  };
  const std::vector<std::string> usual = load(std::string(model) + data + train);
  testing::expect_answers("run-files.txt", [&](const std::string& input) {
    std::string text, said;
    for (const std::string table : {model, data, train})
      if (input.find(table.substr(0, table.find('\n'))) == std::string::npos) text += table;
    const std::string first = input.substr(0, input.find('\n'));
    text += input.starts_with("-") ? input.substr(first.size() + 1) : input;
    try {
      for (const std::string& line :
           load(text, first.starts_with("--text ") ? std::optional(folder / first.substr(7)) : std::nullopt))
        if (first == "-" || std::ranges::find(usual, line) == usual.end()) said += (said.empty() ? "" : "\n") + line;
    } catch (const InputError& error) {
      said = error.what();
      const std::string here = folder.path().string() + "/";
      EXPECT_TRUE(said.starts_with(here)) << said;
      said.erase(0, here.size());
    }
    return testing::in_folder(folder, said);
  });
}

// Time and memory must not depend on the numbers. A token takes a byte of the file and no memory, so the file may be
// larger than memory; each row of a microbatch needs the memory of its longest row.
TEST(RunFile, RefusesStepsBeyondMemory) {
  const TemporaryFolder folder;
  write_inputs(folder);
  const auto refusal = [&](const std::string& lengths) {
    const std::string text = std::string(model) + "[data]\ntext = \"a.txt\"\n" + lengths + "\n" + train;
    return error_of<SystemError>([&] { load_run(folder.file("run.toml", text), std::nullopt); });
  };
  std::filesystem::resize_file(folder.file("a.txt", ""), std::uintmax_t{1} << 42);  // sparse
  EXPECT_THAT(
      refusal("lengths = [1]\nbatch = 4000000000000"),
      ::testing::ContainsRegex("1 microbatches of 4000000000000 rows needs 29\\.1 TiB of memory, this machine has "
                               "[0-9.]+ .iB"));
  Json config = read_json(folder / "models/a/config.json");
  config["max_position_embeddings"] = 50'000'000;
  folder.file("models/a/config.json", config.dump());
  std::string rows;
  for (int i = 1; i < 20000; ++i) rows += "1, ";
  std::filesystem::resize_file(folder / "a.txt", 50'060'000);
  EXPECT_THAT(refusal("batch = 20000\nlengths = [1, [" + rows + "50000000]]"),
              ::testing::HasSubstr("run.toml: microbatch 1 of 20000 rows, padded to 50000000 tokens each,"));
}

TEST(RunFile, EachRunHasItsOwnId) {
  const std::string quick = testing::fixtures_path() + "/runs/quick.toml";
  EXPECT_NE(load_run(quick).id, load_run(quick).id);
}

TEST(RunFile, OptimizerMayBeReplacedByAKnownOne) {
  OptimizerSettings settings;
  settings.use("sgd");
  EXPECT_EQ(settings.name, "sgd");
  EXPECT_THAT(error_of<InputError>([&] { settings.use("adam"); }), ::testing::HasSubstr("adamw, sgd"));
}

}  // namespace
}  // namespace plumbline
