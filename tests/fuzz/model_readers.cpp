// SPDX-License-Identifier: BSD-3-Clause
// Inputs of a run: model config, weights, run file, token files. Their readers are in components that link LibTorch,
// but do not need it, so their sources are compiled into these programs again.
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "harness/judge/expected/model.hpp"
#include "harness/judge/request/token_source.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_variant.hpp"
#include "model/config.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/mapped_file.hpp"
#include "support/tensor_files.hpp"
#include "tests/fuzz/reader.hpp"
#include "training/run_file.hpp"
#include "training/token_format.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

/// Reads every byte of every tensor, to detect one outside the file: the machine faults beyond its last page, and
/// counting detects it before.
void read_tensors(const TensorFiles& files, std::uintmax_t most_bytes) {
  std::size_t sum = 0;
  std::uintmax_t bytes = 0;
  for (const std::string& name : files.names()) {
    for (const std::byte byte : files.at(name).bytes) sum += static_cast<std::size_t>(byte);
    bytes += files.at(name).bytes.size();
  }
  static_cast<void>(*static_cast<volatile std::size_t*>(&sum));
  if (bytes > most_bytes) throw std::logic_error("its tensors hold more bytes than the file");
}

void read_tokens(const fs::path& file, const std::string& format) {
  judging::TokenFile tokens(file, static_cast<std::int64_t>(file_bytes(file)), format);
  std::vector<std::int64_t> ids;
  tokens.append(0, tokens.tokens(), ids);
}

const Registration all[] = {
    Registration({"model-config", "config.json", [](const fs::path&, const fs::path& file) { load_config(file); }}),
    Registration({"expected-model", "config.json",
                  [](const fs::path&, const fs::path& file) { judging::expected_model(read_json(file)); }}),
    Registration({"run-file", "run.toml", [](const fs::path&, const fs::path& file) { load_run_file(file); },
                  "tests/fuzz/seeds/run"}),
    Registration({"run-file-of-sweep", "run.toml",
                  [](const fs::path& folder, const fs::path& file) {
                    read_run_facts(file, {});
                    static_cast<void>(pipeline_run(file, {}, "1f1b", folder));
                  },
                  "tests/fuzz/seeds/run"}),
    Registration({"safetensors", "model.safetensors",
                  [](const fs::path&, const fs::path& file) {
                    read_tensors(TensorFiles::of_model(file), fs::file_size(file));
                  }}),
    Registration({"safetensors-index", "model.safetensors.index.json",
                  [](const fs::path& folder, const fs::path&) {
                    read_tensors(TensorFiles::of_model(folder), std::numeric_limits<std::uintmax_t>::max());
                  },
                  "tests/fuzz/seeds/safetensors-index"}),
    Registration(
        {"tokens-of-judge", "text.bin", [](const fs::path&, const fs::path& file) { read_tokens(file, "uint16"); }}),
    Registration({"tokens", "text.bin",
                  [](const fs::path&, const fs::path& file) {
                    const MappedFile mapped(file);
                    static_cast<void>(token_format(file, mapped.bytes(), std::nullopt));
                  }}),
};

}  // namespace
}  // namespace plumbline::fuzzing
