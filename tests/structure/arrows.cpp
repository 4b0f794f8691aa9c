// SPDX-License-Identifier: BSD-3-Clause
#include "tests/structure/arrows.hpp"

#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline::structure {
namespace {

bool starts_with_any(std::string_view text, const std::vector<std::string_view>& beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (text.starts_with(beginning)) return true;
  }
  return false;
}

}  // namespace

const std::map<std::string, Allowance>& allowances() {
  static const std::map<std::string, Allowance> table{
      {"support", {{}, {}}},
      {"command_line", {{"support"}, {}}},
      {"schedule", {{"support"}, {}}},
      {"record", {{"support"}, {}}},
      {"model", {{"support"}, {"torch"}}},
      {"training", {{"model", "record", "support"}, {"torch"}}},
      // The oracle must share neither transport, nor schedule, nor concurrency with what it judges.
      {"reference", {{"command_line", "training", "model", "record", "support"}, {"torch"}, false}},
      {"pipeline",
       {{"command_line", "training", "model", "schedule", "record", "support"}, {"torch", "mpi", "nccl", "cuda"}}},
      // Loaded at run time; knows only the interfaces that it implements.
      {"gpu", {{"training", "pipeline", "support"}, {"torch", "nccl", "cuda"}}},
      {"reports", {{"record", "schedule", "support"}, {}}},
      // The harness knows the trainers only through their records; its judge starts nothing and does not know sweeps.
      {"harness/judge", {{"record", "schedule", "support"}, {}, false}},
      {"harness/launch", {{"record", "support"}, {}}},
      {"harness/sweep", {{"harness/judge", "harness/launch", "reports", "record", "schedule", "support"}, {}}},
      {"harness/commands",
       {{"command_line", "harness/sweep", "harness/judge", "harness/launch", "reports", "record", "schedule",
         "support"},
        {}}},
  };
  return table;
}

std::string component_of(const std::string& path) {
  for (auto end = path.rfind('/'); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
    if (allowances().contains(path.substr(0, end))) return path.substr(0, end);
  }
  return "";
}

std::string library_of_header(const std::string& header) {
  if (starts_with_any(header,
                      {"c10/cuda/", "ATen/cuda/", "torch/csrc/cuda/", "cuda", "cub/", "thrust/", "nv/", "nvtx3/"})) {
    return "cuda";
  }
  if (starts_with_any(header, {"ATen/", "c10/", "torch/", "caffe2/"})) return "torch";
  if (starts_with_any(header, {"mpi.h", "mpi-ext.h", "mpicxx", "openmpi/"})) return "mpi";
  if (starts_with_any(header, {"nccl"})) return "nccl";
  return "";
}

std::string library_of_link_item(const std::string& item) {
  std::string lower;
  for (const char c : item) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // "mpi" alone would also be found in "compile".
  const std::pair<std::string_view, std::string_view> parts[] = {
      {"nccl", "nccl"},    {"cuda", "cuda"},         {"torch", "torch"},    {"c10", "torch"},
      {"mpi::", "mpi"},    {"libmpi", "mpi"},        {"-lmpi", "mpi"},      {"open-rte", "mpi"},
      {"open-pal", "mpi"}, {"threads::", "threads"}, {"pthread", "threads"}};
  for (const auto& [part, library] : parts) {
    if (lower.find(part) != std::string::npos) return std::string(library);
  }
  return "";
}

bool is_thread_header(const std::string& header) {
  static const std::set<std::string> headers{
      "thread", "mutex",      "shared_mutex", "condition_variable", "future",    "barrier", "latch",     "semaphore",
      "atomic", "stop_token", "execution",    "pthread.h",          "threads.h", "omp.h",   "coroutine", "stdatomic.h"};
  return headers.contains(header);
}

}  // namespace plumbline::structure
