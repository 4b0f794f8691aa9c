// SPDX-License-Identifier: BSD-3-Clause
#include "tests/goldens/golden_demand.hpp"

#include <torch/headeronly/version.h>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "tests/goldens/golden_machine.hpp"
#include "training/environment.hpp"

namespace plumbline {
namespace {

/// The loosest limits that a golden may request.
struct DerivedLimits {
  double logits, loss, gradient, floor;
};
// Goldens recomputed on other code paths (AVX2, no vector instructions, MKL_CBWR=COMPATIBLE) differed by at most 3e-6;
// the smallest mistake tried, a wrong eps, changes logits by 2e-3. The floor is one float32 unit in the last place; on
// those code paths the residue of gradients that are zero in exact arithmetic was at most a ninth of it.
constexpr DerivedLimits of_float32{2e-5, 2e-5, 2e-5, 0x1p-23};
// In bfloat16, other code paths (AVX2, no vector instructions, oneDNN limited to AVX2) changed logits by up to 2^-6,
// which is one unit in the last place of the largest, the loss by 9e-5, and gradients by up to 0.7 % of the tensor's
// largest element. These limits are about twice that (five times for the loss). They detect a wrong rotation or mask,
// but not a wrong eps, which only the bits show.
constexpr DerivedLimits of_bfloat16{0x1p-5, 0x1p-11, 0x1p-6, 0};

double read_limit(const Json& golden, const std::string& key, double derived, const std::filesystem::path& path) {
  if (!golden.contains("limits") || !golden["limits"].contains(key)) {
    return derived;
  }
  const Json& limit = golden["limits"][key];
  if (!limit.is_number() || !(limit.get<double>() >= 0 && limit.get<double>() <= derived)) {
    throw InputError(path.string() + ": limits." + key + " = " + json_text(limit) + ": must be a number from 0 to " +
                     to_text(derived) + ", the derived tolerance");
  }
  return limit.get<double>();
}

/// The digests of an entry of `also`; empty if its machine computes the values of io.safetensors.
std::optional<std::map<std::string, std::string>> read_digests(const Json& entry, const std::filesystem::path& path) {
  if (!entry.is_object() || !entry.contains("machine")) {
    throw InputError(path.string() + ": an entry of also must be an object with machine");
  }
  if (!entry.contains("outputs")) return std::nullopt;
  if (!entry["outputs"].is_object()) {
    throw InputError(path.string() +
                     ": outputs of an entry of also must be an object of tensor names and digests, found " +
                     json_text(entry["outputs"]) + "; if it is the golden's own file, omit outputs");
  }
  std::map<std::string, std::string> digests;
  for (const auto& [name, digest] : entry["outputs"].items()) {
    if (!digest.is_string() || !is_digest(digest.get<std::string>())) {
      throw InputError(path.string() + ": outputs of an entry of also: " + name + " = " + json_text(digest) +
                       " is not a digest: 32 lower-case hex digits");
    }
    digests[name] = digest.get<std::string>();
  }
  return digests;
}

/// Outputs with this machine's bits: from the golden's machine or from an entry of `also`. Null if there are none;
/// `reason` then says why.
void choose_outputs(GoldenDemand& demand, const Json& golden, const Json& machine, const Json& environment,
                    const std::filesystem::path& path) {
  if (golden.is_null()) {
    demand.reason = "no golden.json says which machine made it";
    return;
  }
  demand.reason = why_other_bits(golden, golden, machine, environment);
  demand.bits = demand.reason.empty();
  for (const Json& entry : golden.value("also", Json::array())) {
    if (demand.bits) return;
    auto digests = read_digests(entry, path);
    if (!why_other_bits(golden, entry, machine, environment).empty()) continue;
    demand.bits = true;
    demand.digests = std::move(digests);
  }
}

}  // namespace

GoldenDemand golden_demand(const Json& golden, const Json& machine, const Json& environment,
                           const std::filesystem::path& path, const std::string& dtype) {
  if (!golden.is_null() && !golden.is_object()) {
    throw InputError(path.string() + ": a golden.json must hold one object { ... }");
  }
  GoldenDemand demand;
  choose_outputs(demand, golden, machine, environment, path);
  if (demand.bits) {
    demand.reason = "computed on this code path (" + machine.value("cpu_vendor", "") + " family " +
                    json_text(machine.value("cpu_family", Json())) + " model " +
                    json_text(machine.value("cpu_model_number", Json())) + ", " + machine.value("aten_capability", "") +
                    ", LibTorch " TORCH_VERSION ")";
  }
  const DerivedLimits& derived = dtype == "bfloat16" ? of_bfloat16 : of_float32;
  demand.logits_absolute = read_limit(golden, "logits_absolute", derived.logits, path);
  demand.loss_absolute = read_limit(golden, "loss_absolute", derived.loss, path);
  demand.gradient_relative_to_largest = read_limit(golden, "gradient_relative_to_largest", derived.gradient, path);
  demand.gradient_floor_relative_to_all = read_limit(golden, "gradient_floor_relative_to_all", derived.floor, path);
  return demand;
}

}  // namespace plumbline
