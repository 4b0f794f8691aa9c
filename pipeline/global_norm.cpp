#include "pipeline/global_norm.hpp"

#include <ATen/Tensor.h>

#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/error.hpp"
#include "support/numbers.hpp"
#include "training/gradient_norm.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

std::string to_lines(const std::vector<ParameterNorm>& norms) {
  std::string lines;
  for (const ParameterNorm& each : norms) lines += each.name + ' ' + to_text(each.norm) + '\n';
  return lines;
}

void append_lines(const std::string& lines, std::vector<ParameterNorm>& norms) {
  std::istringstream in(lines);
  for (std::string name, number; in >> name >> number;) {
    const auto norm = parse_double(number);
    if (!norm) throw std::logic_error("the norm of " + name + " came as \"" + number + "\"");
    norms.push_back({name, *norm});
  }
}

}  // namespace

double global_norm(Transport& transport, const LlamaConfig& config, const std::vector<Parameter>& parameters) {
  const MemoryScope scope(MemoryOwner::other);
  const std::vector<ParameterNorm> own = gradient_norms(config, parameters);
  if (transport.world_size() == 1) return total_norm(config, own);
  std::string total;
  const std::vector<std::string> gathered = transport.gather(to_lines(own));
  if (transport.rank() == 0) {
    std::vector<ParameterNorm> norms;
    for (const std::string& lines : gathered) append_lines(lines, norms);
    total = to_text(total_norm(config, norms));
  }
  return parse_double(transport.broadcast(total)).value();
}

void compare_tied_copies(Transport& transport, std::int64_t step, const std::vector<Parameter>& parameters) {
  std::string own;
  {
    const MemoryScope scope(MemoryOwner::recorder);
    for (const Parameter& each : parameters) {
      const bool tied = each.name == "lm_head.weight" || each.name == "model.embed_tokens.weight";
      if (tied) own += digest(each.value) + '\n';
    }
  }
  std::set<std::string> copies;
  for (const std::string& lines : transport.gather(own)) {
    std::istringstream in(lines);
    for (std::string copy; in >> copy;) copies.insert(copy);
  }
  if (copies.size() > 1) {
    throw RunError("step " + std::to_string(step) +
                   ": the copies of the tied weight on the first and the last stage differ after the update");
  }
}

}  // namespace plumbline
