// SPDX-License-Identifier: BSD-3-Clause
#include "tests/goldens/golden_machine.hpp"

#include <torch/headeronly/version.h>

#include <algorithm>
#include <vector>

#include "support/json_text.hpp"
#include "training/environment.hpp"

namespace plumbline {

std::string code_path_difference(const Json& producer, const Json& machine, const Json& environment) {
  std::vector<const char*> keys{"cpu_vendor", "cpu_family", "cpu_model_number", "aten_capability", "mkl_version"};
  // present in bfloat16 goldens only; float32 does not use these instructions
  if (producer.is_object() && producer.contains("bf16_instructions")) keys.push_back("bf16_instructions");
  for (const char* key : keys) {
    const Json theirs = producer.is_object() ? producer.value(key, Json(nullptr)) : Json(nullptr);
    const Json ours = machine.value(key, Json(nullptr));
    if (theirs.is_null() || theirs != ours) {
      return "made with " + std::string(key) + " " + json_text(theirs) + ", here it is " + json_text(ours);
    }
  }
  for (const char* key : {"MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA"}) {
    if (const Json value = environment.value(key, Json(nullptr)); !value.is_null()) {
      return std::string(key) + "=" + json_text(value) + " in the environment selects other kernels";
    }
  }
  return "";
}

bool names_this_torch(const Json& torch) {
  const Json named = torch.is_array() ? torch : Json::array({torch});
  return std::any_of(named.begin(), named.end(), [](const Json& one) { return one == Json(TORCH_VERSION); });
}

std::string why_other_bits(const Json& golden, const Json& entry, const Json& machine, const Json& environment) {
  const Json torch = entry.value("torch", golden.value("torch", Json(nullptr)));
  if (!names_this_torch(torch))
    return "its bits are those of torch " + json_text(torch) + ", this is LibTorch " TORCH_VERSION;
  return code_path_difference(entry.value("machine", Json::object()), machine, environment);
}

bool holds_bits_of_here(const Json& golden) {
  const Json machine = machine_json(), environment = environment_json(), also = golden.value("also", Json::array());
  const auto has_bits_of_here = [&](const Json& entry) {
    return why_other_bits(golden, entry, machine, environment).empty();
  };
  return has_bits_of_here(golden) || std::any_of(also.begin(), also.end(), has_bits_of_here);
}

}  // namespace plumbline
