// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_fingerprint.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <vector>

#include "harness/launch/launcher.hpp"
#include "harness/launch/linked_libraries.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_variant.hpp"
#include "record/json_keys.hpp"
#include "schedule/runnable.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
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

std::string trainers_hash(const fs::path& trainers, SweepInputs& inputs) {
  Hasher hasher;
  for (const auto& program : trainer_files(trainers))
    hasher.update(program.filename().string() + inputs.held_hash_of(program) + "\n");
  return hasher.hex();
}

std::string libraries_hash(const fs::path& trainers, SweepInputs& inputs) {
  Hasher hasher;
  for (const char* program : {reference_program, pipeline_program}) {
    for (const auto& library : linked_libraries(trainers / program))
      hasher.update(library.string() + inputs.held_hash_of(library));
  }
  return hasher.hex();
}

std::string launcher_hash(const SweepFile& sweep, SweepInputs& inputs) {
  if (sweep.launcher.empty()) return "";
  std::error_code ignored;
  const fs::path program = find_program(launcher_words(sweep.launcher, 1).front());
  return hash_hex(sweep.launcher + "\n" + inputs.held_hash_of(fs::weakly_canonical(program, ignored)));
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

/// The command's words, the program and the files that its words name; what these read is unknown. Scripts and programs
/// must not change; other files may be outputs of the command.
std::string hash_of(const SweepFile& sweep, const PlannedCommand& command, const Request& request,
                    SweepInputs& inputs) {
  Hasher hasher;
  hasher.update(identity_of(command) + to_json(request).dump());
  const auto launcher = launcher_words(sweep.launcher, command.ranks);
  std::error_code ignored;
  hasher.update(inputs.held_hash_of(fs::weakly_canonical(program_of(command, launcher), ignored)));
  for (const auto& word : started_command(command, {"", 0, launcher}).words) {
    const fs::path path = command.folder / word;
    if (word.empty() || !fs::is_regular_file(path, ignored)) continue;
    hasher.update(word + (is_program(path) ? inputs.held_hash_of(path) : inputs.hash_of(path)));
  }
  return hasher.hex();
}

/// The index NAME.idx next to NAME.bin, if it exists.
std::string hash_of(const RequestedData& data, SweepInputs& inputs) {
  Hasher hasher;
  for (const auto& file : data.files) {
    hasher.update(file.string() + inputs.held_hash_of(file));
    if (file.extension() == ".bin") hasher.update(inputs.held_hash_of(fs::path(file).replace_extension(".idx")));
  }
  return hasher.hex();
}

/// Empty for a known name.
std::string schedule_file_hash(const std::string& schedule, SweepInputs& inputs) {
  return names_schedule_file(schedule) ? inputs.held_hash_of(schedule) : "";
}

std::string hash_of(const SweepFile& sweep, const PlannedReference& reference, SweepInputs& inputs) {
  const Request request = reference.request ? *reference.request : make_request(sweep, reference);
  if (reference.command) return hash_of(sweep, *reference.command, request, inputs);
  inputs.held_hash_of(reference.run);  // read again for each run; the digest uses the derived text
  const auto facts = facts_of(reference);
  Hasher hasher;
  hasher.update(reference_run(reference.run, reference.changes, "/") + reference.accumulation +
                (reference.splits_backward ? "" : without_split_backward));
  hasher.update(inputs.held_hash_of(facts->config));
  if (facts->weights) hasher.update(inputs.held_hash_of(*facts->weights));
  if (request.data) hasher.update(hash_of(*request.data, inputs));
  if (request.evaluation && *request.evaluation) hasher.update(hash_of((*request.evaluation)->data, inputs));
  return hasher.hex();
}

std::string hash_of(const SweepFile& sweep, const PlannedCell& cell, const std::string& reference,
                    SweepInputs& inputs) {
  const CellPlan& asked = cell.plan;
  if (cell.command) {
    return hash_hex(reference + hash_of(sweep, *cell.command, make_request(sweep, cell), inputs) +
                    join(asked.checks, ",") + (asked.repeat ? " repeat" : ""));
  }
  inputs.held_hash_of(cell.run);
  std::string first_segment;
  if (const auto& start = cell.resumes_from) {
    first_segment = pipeline_run(cell.run, cell.changes, start->schedule, "/") +
                    schedule_file_hash(start->schedule, inputs) + std::to_string(start->steps) + " steps on " +
                    std::to_string(start->world);
  }
  return hash_hex(first_segment + schedule_file_hash(cell.schedule, inputs) + reference +
                  pipeline_run(cell.run, cell.changes, cell.schedule, "/") + join(asked.checks, ",") +
                  (asked.clipping_must_act ? " clipping" : "") + (asked.repeat ? " repeat" : "") +
                  (asked.bench ? " bench" : ""));
}

std::map<std::string, std::string> texts_of(const JsonKeys& keys, const char* key) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : keys.at(key).items()) {
    if (!value.is_string()) keys.fail(key, "is not as this program writes it");
    texts[name] = value.get<std::string>();
  }
  return texts;
}

std::string stamp_of_one(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return "";
  std::string stamp;
  for (const auto number : {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
                            static_cast<std::int64_t>(status.st_size), static_cast<std::int64_t>(status.st_mtim.tv_sec),
                            static_cast<std::int64_t>(status.st_mtim.tv_nsec)})
    stamp += std::to_string(number) + " ";
  return stamp;
}

std::string hash_of_folder(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_directory()) files.push_back(entry.path().filename().string() + " " + file_hash(entry.path()) + "\n");
  }
  std::ranges::sort(files);
  return hash_hex(join(files, ""));
}

/// For a folder, the stamps of its files: writing to a file does not change the folder's own.
std::set<std::string> stamp_of(const fs::path& file) {
  std::set<std::string> stamp = {stamp_of_one(file)};
  std::error_code no_folder;
  for (const auto& entry : fs::directory_iterator(file, no_folder)) stamp.insert(stamp_of_one(entry.path()));
  return stamp;
}

}  // namespace

SweepFingerprint fingerprint_of(const SweepFile& sweep, const SweepPlan& plan, const fs::path& trainers,
                                const std::string& judge, SweepInputs& inputs) {
  SweepFingerprint fingerprint;
  fingerprint.judge = judge;
  if (!sweep.accept_missing.empty()) fingerprint.judge += ", accepts " + join(sweep.accept_missing, ",");
  if (!sweep.commands) {
    fingerprint.shared = {{"the trainers", trainers_hash(trainers, inputs)},
                          {"the trainers' libraries", libraries_hash(trainers, inputs)}};
  }
  fingerprint.shared.insert({
      {"the launcher", launcher_hash(sweep, inputs)},
      {"the machine's processor", processor_hash()},
      {"the environment", environment_hash()},
      {"device or tier",
       sweep.device + (sweep.calibrated ? sweep.mixed_gpus ? ", calibrated, mixed" : ", calibrated" : "")},
  });
  std::vector<std::string> references;
  for (const auto& reference : plan.references) {
    references.push_back(hash_of(sweep, reference, inputs));
    fingerprint.runs["reference-" + reference.id] = references.back();
  }
  for (const auto& cell : plan.cells)
    fingerprint.runs[cell.plan.id] = hash_of(sweep, cell, references[cell.reference], inputs);
  return fingerprint;
}

Json to_json(const SweepFingerprint& fingerprint) {
  return {{"shared", fingerprint.shared}, {"runs", fingerprint.runs}, {"judge", fingerprint.judge}};
}

SweepFingerprint read_fingerprint(const Json& json, const fs::path& file) {
  const JsonKeys keys(file, json);
  if (!keys.at("fingerprint").is_object()) {
    throw InputError(file.string() + ": is from an older version, whose sweeps cannot be resumed; choose another " +
                     "--out. Nothing was overwritten.");
  }
  const JsonKeys kept = keys.object("fingerprint");
  SweepFingerprint fingerprint;
  fingerprint.shared = texts_of(kept, "shared");
  fingerprint.runs = texts_of(kept, "runs");
  fingerprint.judge = kept.text("judge");
  return fingerprint;
}

std::optional<std::string> changed_since(const SweepFingerprint& kept, const SweepFingerprint& now) {
  std::vector<std::string> changed;
  for (const auto& [name, hash] : now.shared) {
    const auto found = kept.shared.find(name);
    if (found == kept.shared.end() || found->second != hash) changed.push_back(name);
  }
  if (!changed.empty())
    return join(changed, " and ") + (changed.size() > 1 || changed[0].ends_with('s') ? " have" : " has") + " changed";
  for (const auto& [id, hash] : now.runs) {
    const auto found = kept.runs.find(id);
    if (found == kept.runs.end() || found->second == hash) continue;
    return "what " + id + " was made from has changed (its run file, model, weights, data, schedule or checks)";
  }
  return std::nullopt;
}

std::string file_hash(const fs::path& path) {
  constexpr std::size_t largest_read = 64 << 20;
  std::error_code error;
  if (fs::is_directory(path, error)) return hash_of_folder(path);
  const auto size = fs::file_size(path, error);
  if (error) return "missing";
  if (size <= largest_read) return hash_hex(read_file(path, largest_read));
  const auto changed = fs::last_write_time(path, error);
  // libc++ represents file times in 128 bits, which std::to_string does not support.
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(changed.time_since_epoch());
  return std::to_string(size) + " " + std::to_string(nanoseconds.count());
}

SweepInputs::Known& SweepInputs::known(const fs::path& file) {
  const auto [found, is_new] = known_.try_emplace(file);
  if (is_new) {
    found->second.stamp = stamp_of(file);  // before reading, so that a concurrent change is read again
    found->second.hash = file_hash(file);
  }
  return found->second;
}

const std::string& SweepInputs::hash_of(const fs::path& file) {
  return known(file).hash;
}

const std::string& SweepInputs::held_hash_of(const fs::path& file) {
  Known& input = known(file);
  input.held = true;
  return input.hash;
}

void SweepInputs::require_unchanged() const {
  for (const auto& [file, input] : known_) {
    if (!input.held || stamp_of(file) == input.stamp || file_hash(file) == input.hash) continue;
    throw SystemError(file.string() +
                      " changed after the sweep began: earlier and later runs would use different files. " +
                      "Restore it, or start again with another --out");
  }
}

}  // namespace plumbline
