// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/doctor.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "command_line/command_line.hpp"
#include "harness/commands/commands.hpp"
#include "harness/launch/default_launcher.hpp"
#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "harness/sweep/run_commands.hpp"
#include "record/exit_file.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/mpi_launcher.hpp"
#include "support/paths.hpp"
#include "support/single_copy.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "support/visible_gpus.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Json ask(const fs::path& program, StopSignals& signals) {
  try {
    const ScratchFolder scratch;
    Launch question;
    question.command = {program.string(), "--capabilities"};
    question.folder = scratch.path();
    question.time_limit = std::chrono::seconds(60);
    const auto finding = launch(question, signals);
    if (finding.exit_code == 0) return read_json(question.folder / "stdout.txt");
    return {{"missing", fmt::format("{} --capabilities ended with code {}: {}", program.string(), finding.exit_code,
                                    last_error_line(question.folder / "stderr.txt", program.filename().string()))}};
  } catch (const Error& error) {
    return {{"missing", error.what()}};
  }
}

std::string plain(const Json& value) {
  if (value.is_null() || (value.is_structured() && value.empty())) return "none";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.is_string() ? value.get<std::string>() : json_text(value);
  std::vector<std::string> parts;
  for (const Json& each : value) parts.push_back(plain(each));
  return join(parts, ", ");
}

void flatten(const Json& value, const std::string& indent, std::string& text) {
  for (const auto& [key, inner] : value.items()) {
    text += indent + (value.is_array() ? "-" : (std::string(key) + ":"));
    if (inner.is_structured() && !inner.empty() && !(inner.is_array() && !inner.front().is_structured())) {
      text += "\n";
      flatten(inner, indent + "  ", text);
    } else {
      text += " " + plain(inner) + "\n";
    }
  }
}

const Json no_trainer = {{"missing", "is not installed here"}};

/// A field of a trainer's answer, or null.
Json of_gpu(const Json& answer, const std::string& key) {
  return answer.value(Json::json_pointer("/gpu/" + key), Json());
}

bool names_transport(const Json& answer, const std::string& name) {
  const Json transports = answer.value("transports", Json::array());
  return std::find(transports.begin(), transports.end(), name) != transports.end();
}

constexpr std::int64_t tested_ranks = 2;

constexpr const char* tested_run = R"([model]
config = "model.json"
[data]
text = "text.txt"
lengths = [2, 2]
[train]
steps = 1
[pipeline]
transport = "mpi"
)";

void write_run(const fs::path& folder) {
  write_file(folder / "run.toml", tested_run);
  write_file(folder / "text.txt", "the text of a run of two ranks, one step long");
  write_json(folder / "model.json", {{"model_type", "llama"},
                                     {"vocab_size", 256},
                                     {"hidden_size", 8},
                                     {"intermediate_size", 8},
                                     {"num_hidden_layers", 2},
                                     {"num_attention_heads", 1},
                                     {"num_key_value_heads", 1},
                                     {"max_position_embeddings", 2},
                                     {"rms_norm_eps", 1e-5},
                                     {"tie_word_embeddings", false}});
}

std::int64_t arrived_in(const fs::path& record) {
  std::int64_t arrived = 0;
  for (std::int64_t rank = 0; rank < tested_ranks; ++rank) {
    try {
      const auto ended = read_exit_file(record / rank_folder(rank) / "exit.json");
      if (ended && ended->status == "ok") ++arrived;
    } catch (const InputError&) {  // the record is damaged
    }
  }
  return arrived;
}

/// Starts two ranks as a sweep does: {"launcher": "mpirun ...", "asked": 2, "arrived": number that trained a step and
/// completed, "why_not": null or why fewer}. The run, one step of a tiny model, uses a temporary folder, which is
/// removed. Throws SystemError if a stop was requested.
Json start_two_ranks(const fs::path& trainers, StopSignals& signals) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path();
  Json found = {{"launcher", default_launcher()}, {"asked", tested_ranks}, {"arrived", 0}, {"why_not", nullptr}};
  Launch launch;
  launch.command = launcher_words(default_launcher(), tested_ranks);
  launch.program = (trainers / pipeline_program).string();
  launch.command.insert(launch.command.end(), {launch.program, (folder / "run.toml").string(), "--record",
                                               (folder / "record").string(), "--quiet"});
  launch.folder = folder;
  launch.record = folder / "record";
  launch.ranks = tested_ranks;
  launch.speaker = pipeline_program;
  launch.time_limit = std::chrono::seconds(60);
  try {
    write_run(folder);
    const auto finding = plumbline::launch(launch, signals);
    if (finding.interrupted) throw SystemError(finding.words);
    found["arrived"] = arrived_in(launch.record);
    if (finding.exit_code != 0) found["why_not"] = finding.words;
  } catch (const SystemError& error) {
    if (signals.stop_requested()) throw;
    found["why_not"] = error.what();
  }
  if (found["why_not"].is_null() && found["arrived"] != tested_ranks) {
    found["why_not"] = "the run ended with code 0, but not every rank recorded that it completed";
  }
  return found;
}

}  // namespace

bool judge_alone(const fs::path& folder) {
  return !path_exists(folder / reference_program) && !path_exists(folder / pipeline_program);
}

Json examine_gpus(const Json& trainers) {
  const Json& pipeline = trainers.at(pipeline_program);
  Json can = Json::array(), why = Json::array(), devices = Json::array();
  try {
    visible_gpus();
  } catch (const InputError& error) {  // an invalid variable, with which CUDA shows no GPU
    return {{"can", can}, {"why_not_more", Json::array({error.what()})}, {"devices", devices}};
  }
  if (pipeline == Json(no_trainer)) {
    why.push_back(
        "the trainers report what they can do on GPUs, and there are none here; commands of your own use "
        "what they choose");
  } else if (of_gpu(pipeline, "built") != true) {
    why.push_back("these programs are a CPU build; make cuda builds those that use GPUs, in build/cuda/bin");
  } else if (of_gpu(pipeline, "usable") != true) {
    why.push_back(of_gpu(pipeline, "why_not"));
  } else {
    devices = of_gpu(pipeline, "devices");
    const std::size_t count = devices.size();
    can.push_back("train on one GPU (--device cuda), the pipeline with all stages on it (--transport threads)");
    if (names_transport(pipeline, "nccl")) {
      if (count > 1) can.push_back("train over NCCL with a GPU a rank, up to " + std::to_string(count) + " ranks here");
      // If this is empty, two ranks can share one GPU.
      const Json sharing = of_gpu(pipeline, "why_not_two_ranks_on_one_gpu");
      if (sharing.is_string()) {
        why.push_back(sharing);
      } else {
        can.push_back("train over NCCL with two ranks on one GPU");
      }
      if (count == 1) {
        const auto name = devices.at(0).at("name").get<std::string>();
        const bool slice = name.find(" MIG ") != std::string::npos;
        why.push_back(slice ? name +
                                  " is a MIG slice, and CUDA shows a process one; NCCL with a GPU a rank needs whole "
                                  "GPUs, the other transports run all ranks on the slice"
                            : "this machine has one GPU; NCCL with a GPU a rank needs more, or more machines");
      }
    } else {
      why.push_back("these programs lack the NCCL transport");
    }
    for (std::size_t index = 1; index < count; ++index) {
      if (devices.at(index).at("name") == devices.at(0).at("name")) continue;
      why.push_back(fmt::format("GPUs 0 and {} are different models, whose bits may differ (--mixed-gpus)", index));
      break;
    }
  }
  return {{"can", can}, {"why_not_more", why}, {"devices", devices}};
}

GpuCount count_gpus(const Json& pipeline) {
  const auto visible = visible_gpus();
  if (of_gpu(pipeline, "built") == true) {
    if (of_gpu(pipeline, "usable") != true) return {0, of_gpu(pipeline, "why_not").get<std::string>()};
    return {of_gpu(pipeline, "devices").size(), ""};
  }
  const std::string variable = visible_gpus_variable;
  if (!visible) return {0, "/dev/nvidia<number> does not exist, and " + variable + " is not set"};
  return {visible->size(), visible->empty() ? variable + " names no GPU; unset it, or name some (0,1)" : ""};
}

GpuCount count_gpus(const fs::path& trainers) {
  StopSignals signals;
  return count_gpus(judge_alone(trainers) ? no_trainer : ask(trainers / pipeline_program, signals));
}

Json ctest_resources(std::size_t count) {
  Json gpus = Json::array();
  for (std::size_t index = 0; index < count; ++index) gpus.push_back({{"id", std::to_string(index)}, {"slots", 1}});
  return {{"version", {{"major", 1}, {"minor", 0}}}, {"local", Json::array({{{"gpus", gpus}}})}};
}

Json examine_machine(const fs::path& trainers) {
  StopSignals signals;
  Json findings = {{"usable", false}};  // first, because most readers want it
  Json can = Json::array(), missing = Json::array();
  const bool alone = judge_alone(trainers);
  bool all_trainers = !alone;
  for (const std::string name : {reference_program, pipeline_program}) {
    const Json answer = alone ? no_trainer : ask(trainers / name, signals);
    if (!alone && answer.contains("missing")) {
      all_trainers = false;
      const bool known =
          std::ranges::find(missing, answer.at("missing")) != missing.end();  // one cause for both trainers
      if (!known) missing.push_back(answer.at("missing"));
    }
    findings["trainers"][name] = answer;
  }
  bool has_mpirun = true;
  try {
    findings["programs"][mpirun] = find_program(mpirun).string();
  } catch (const SystemError& error) {
    has_mpirun = false;
    findings["programs"][mpirun] = nullptr;
    if (!alone) missing.push_back(error.what());  // users' commands name their own launcher
  }
  findings["cores"] = std::thread::hardware_concurrency();
  findings["single_copy"] =
      single_copy_allowed()
          ? Json(true)
          : Json(
                "no process may read another's memory here, and Open MPI would report \"Read -1\" for each message: "
                "sweeps set OMPI_MCA_btl_vader_single_copy_mechanism=none (Open MPI 5: OMPI_MCA_smsc=^cma); set it for "
                "runs that you start yourself, or start the container with --cap-add SYS_PTRACE");
  findings["two_ranks"] = nullptr;
  if (all_trainers && has_mpirun) {
    const Json ranks = start_two_ranks(trainers, signals);
    findings["two_ranks"] = ranks;
    if (ranks.at("why_not").is_null()) {
      can.push_back("sweep over MPI processes on the CPU");
    } else {
      missing.push_back(fmt::format("{} of two ranks finished: {}", ranks.at("arrived").get<int>(),
                                    ranks.at("why_not").get<std::string>()));
    }
  }
  can.push_back("sweep over commands of your own");
  can.push_back("compare and report existing records");
  findings["gpus"] = examine_gpus(findings.at("trainers"));
  findings["can"] = can;
  findings["missing"] = missing;
  findings["judge_alone"] = alone;
  findings["usable"] = missing.empty();
  return findings;
}

std::string doctor_text(const Json& findings) {
  std::string text;
  if (findings.at("judge_alone") == true) {
    text = std::string("USABLE: records can be judged, and sweeps of commands of your own run, here\n") +
           "  Plumbline's trainers are not in this program's folder: their sweeps need " + reference_program +
           " and\n  " + pipeline_program + " (make build, or the folder that holds them with --trainers)\n";
  } else if (findings.at("missing").empty()) {
    text = "USABLE: a sweep can run here; both of two ranks finished\n";
  } else {
    text = "NOT USABLE: a sweep of Plumbline's trainers cannot run here; one of commands of your own can\n";
    for (const Json& why : findings.at("missing")) text += "  " + why.get<std::string>() + "\n";
  }
  text += "\n";
  flatten(findings, "", text);
  return text;
}

std::function<int()> add_doctor_command(CLI::App& app, const fs::path& trainers) {
  struct Given {
    fs::path trainers, resources;
    bool json = false;
  };
  const auto given = std::make_shared<Given>();
  given->trainers = trainers;
  auto* command = app.add_subcommand("doctor", "Check whether this machine can run sweeps");
  auto* other_trainers =
      command->add_option("--trainers", given->trainers, "Folder of the trainers (default: this program's folder)")
          ->type_name("DIR");
  auto* as_json = command->add_flag("--json", given->json, "Print it as JSON");
  command
      ->add_option("--ctest-resources", given->resources,
                   "Only find the GPUs, and write the file for ctest --resource-spec-file")
      ->type_name("FILE.json")
      ->excludes(as_json);
  command->footer(help_end({"plumbline doctor"},
                           {.zero = "a sweep can run here", .three = "something is missing, which is listed"}));
  return [given, other_trainers] {
    if (other_trainers->count() > 0 && judge_alone(given->trainers))
      throw InputError(given->trainers.string() + ": contains neither " + reference_program + " nor " +
                       pipeline_program);
    if (!given->resources.empty()) {
      const GpuCount gpus = count_gpus(given->trainers);
      write_json(given->resources, ctest_resources(gpus.count));
      std::cout << given->resources.string() << ": " << gpus.count << (gpus.count == 1 ? " GPU" : " GPUs")
                << (gpus.why_none.empty() ? "" : ": " + gpus.why_none) << "\n";
      return static_cast<int>(ExitCode::holds);
    }
    const Json findings = examine_machine(given->trainers);
    if (given->json)
      std::cout << json_text(findings, 2) << "\n";
    else
      print_text(doctor_text(findings));
    return static_cast<int>(findings.at("missing").empty() ? ExitCode::holds : ExitCode::harness_failure);
  };
}

}  // namespace plumbline
