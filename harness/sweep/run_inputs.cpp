// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_inputs.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "harness/launch/launcher.hpp"
#include "harness/launch/linked_libraries.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_variant.hpp"
#include "schedule/runnable.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

extern char** environ;

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Python, a script with an interpreter line, or a binary that the kernel loads.
bool is_program(const fs::path& file) {
  std::string begin(4, ' ');
  std::ifstream(file, std::ios::binary).read(begin.data(), 4);
  return file.extension() == ".py" || begin.starts_with("#!") || begin.ends_with("ELF");
}

/// Both programs, and modules (*.so) in their folder, sorted: the CUDA half is one.
std::vector<fs::path> trainer_files(const fs::path& trainers) {
  std::vector<fs::path> files = {trainers / reference_program, trainers / pipeline_program};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(trainers, ignored)) {
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string trainers_hash(const fs::path& trainers, SweepInputs& files) {
  Hasher hasher;
  for (const auto& program : trainer_files(trainers))
    hasher.update(program.filename().string() + files.fixed_hash_of(program) + "\n");
  return hasher.hex();
}

std::string libraries_hash(const fs::path& trainers, SweepInputs& files) {
  Hasher hasher;
  for (const char* program : {reference_program, pipeline_program}) {
    for (const auto& library : linked_libraries(trainers / program))
      hasher.update(library.string() + files.fixed_hash_of(library));
  }
  return hasher.hex();
}

std::string launcher_hash(const SweepFile& sweep, SweepInputs& files) {
  if (sweep.launcher.empty()) return "";
  std::error_code ignored;
  const fs::path program = find_program(launcher_words(sweep.launcher, 1).front());
  return hash_hex(sweep.launcher + "\n" + files.fixed_hash_of(fs::weakly_canonical(program, ignored)));
}

/// Model and instruction set of the processor, which select the kernels.
std::string processor_hash() {
  std::ifstream in("/proc/cpuinfo");
  Hasher hasher;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    constexpr std::array keys = {"vendor_id",       "cpu family", "model",   "flags",
                                 "CPU implementer", "CPU part",   "Features"};
    if (std::ranges::any_of(keys, [&](const char* key) { return line.starts_with(key); })) hasher.update(line + "\n");
  }
  return hasher.hex();
}

/// Environment variables that the trainers' libraries read.
std::string environment_hash() {
  constexpr std::array prefixes = {"ATEN_",   "TORCH_", "PYTORCH_", "MKL_",       "OPENBLAS_", "DNNL_",
                                   "ONEDNN_", "GOMP_",  "KMP_",     "CUDA_",      "CUBLAS_",   "CUDNN_",
                                   "NVIDIA_", "NCCL_",  "LD_",      "PLUMBLINE_", "OMPI_MCA_"};
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    if (std::ranges::any_of(prefixes, [&](const char* prefix) { return variable.starts_with(prefix); })) {
      kept.push_back(variable);
    }
  }
  std::ranges::sort(kept);
  return hash_hex(join(kept, "\n"));
}

/// Its words, program, request, and the files that its words name; what these read is unknown. Scripts and programs
/// must not change; other files may be outputs of the command.
void add_command(const SweepFile& sweep, const PlannedCommand& command, const Request& request, SweepInputs& files,
                 RunInputs& inputs) {
  inputs[command.is_candidate ? "the candidate's command" : "the reference's command"] =
      hash_hex(identity_of(command) + to_json(request).dump());
  const auto launcher = launcher_words(sweep.launcher, command.ranks);
  const auto words = started_command(command, {"", 0, launcher}).words;
  std::error_code ignored;
  inputs[command.words.front()] = files.fixed_hash_of(fs::weakly_canonical(program_of(command, launcher), ignored));
  for (const auto& word : words) {
    const fs::path path = command.folder / word;
    if (word.empty() || word == words.front() || !fs::is_regular_file(path, ignored)) continue;
    inputs[word] = is_program(path) ? files.fixed_hash_of(path) : files.hash_of(path);
  }
}

/// The index NAME.idx next to NAME.bin, if it exists.
std::string hash_of(const RequestedData& data, SweepInputs& files) {
  Hasher hasher;
  for (const auto& file : data.files) {
    hasher.update(file.string() + files.fixed_hash_of(file));
    if (file.extension() == ".bin") hasher.update(files.fixed_hash_of(fs::path(file).replace_extension(".idx")));
  }
  for (const auto& file : data.ignore) hasher.update(file.string() + files.fixed_hash_of(file));
  return hasher.hex();
}

/// Empty for a known name.
std::string schedule_file_hash(const std::string& schedule, SweepInputs& files) {
  return names_schedule_file(schedule) ? files.fixed_hash_of(schedule) : "";
}

/// Inputs that all runs share.
RunInputs shared_inputs(const SweepFile& sweep, const fs::path& trainers, SweepInputs& files) {
  RunInputs inputs = {{"the processor", processor_hash()},
                      {"the environment", environment_hash()},
                      {"the launcher", launcher_hash(sweep, files)},
                      {"the device or tier",
                       sweep.device + (sweep.calibrated ? ", calibrated" : "") + (sweep.mixed_gpus ? ", mixed" : "")}};
  if (sweep.commands) return inputs;
  inputs["the trainers"] = trainers_hash(trainers, files);
  inputs["the trainers' libraries"] = libraries_hash(trainers, files);
  return inputs;
}

void add_reference(const SweepFile& sweep, const PlannedReference& reference, SweepInputs& files, RunInputs& inputs) {
  if (reference.command) return add_command(sweep, *reference.command, *reference.request, files, inputs);
  files.fixed_hash_of(reference.run);  // read again for each run
  const auto facts = facts_of(reference);
  const Request& request = *reference.request;
  inputs["the run file"] =
      hash_hex(reference_run(reference.run, reference.changes, "/") + reference.accumulation +
               (reference.splits_backward ? "" : without_split_backward) + to_json(request).dump());
  inputs["the model"] = files.fixed_hash_of(facts->config);
  if (facts->weights) inputs["the weights"] = files.fixed_hash_of(*facts->weights);
  if (request.data) inputs["the data"] = hash_of(*request.data, files);
  if (request.evaluation && *request.evaluation)
    inputs["the data for validation"] = hash_of((*request.evaluation)->data, files);
}

void add_case(const SweepFile& sweep, const PlannedCell& cell, SweepInputs& files, RunInputs& inputs) {
  if (cell.command) return add_command(sweep, *cell.command, *cell.plan.request, files, inputs);
  files.fixed_hash_of(cell.run);
  std::string run = pipeline_run(cell.run, cell.changes, cell.schedule, "/");
  std::string schedule = schedule_file_hash(cell.schedule, files);
  if (const auto& start = cell.resumes_from) {
    run += pipeline_run(cell.run, cell.changes, start->schedule, "/") + std::to_string(start->steps) + " steps on " +
           std::to_string(start->world);
    schedule += "from " + schedule_file_hash(start->schedule, files);
  }
  inputs["the run file of the pipeline"] = hash_hex(run + to_json(*cell.plan.request).dump());
  if (!schedule.empty()) inputs["the schedule file"] = schedule;
}

}  // namespace

void set_inputs(const SweepFile& sweep, SweepPlan& plan, const fs::path& trainers, SweepInputs& files) {
  const RunInputs shared = shared_inputs(sweep, trainers, files);
  for (auto& reference : plan.references) {
    reference.inputs = shared;
    add_reference(sweep, reference, files, reference.inputs);
  }
  for (auto& cell : plan.cells) {
    cell.inputs = plan.references[cell.reference].inputs;
    add_case(sweep, cell, files, cell.inputs);
  }
}

std::optional<std::string> first_difference(const RunInputs& before, const RunInputs& now) {
  for (const auto& [name, hash] : now) {
    const auto found = before.find(name);
    if (found == before.end() || found->second != hash) return name;
  }
  for (const auto& [name, hash] : before) {
    if (!now.contains(name)) return name;
  }
  return std::nullopt;
}

}  // namespace plumbline
