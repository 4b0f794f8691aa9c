// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/step_end.hpp"

#include <ATen/Tensor.h>

#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/numbers.hpp"
#include "training/action_log.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

std::int64_t exchange_tied_gradients(Group& pipeline, const TiedWeight& tied, int peer, std::int64_t step,
                                     std::int32_t last_stage) {
  if (tied.both()) {
    tied.add_uses();
    return 0;
  }
  const MemoryScope scope(MemoryOwner::transport);
  const bool head = tied.head() != nullptr;
  at::Tensor gradient = (head ? tied.head() : tied.embedding())->gradient();
  const auto header = [&](bool sum) { return tied_gradient_header(step, last_stage, sum, gradient); };
  std::int64_t waited_ns = 0;
  const auto wait = [&](const Pending& message) {
    const std::int64_t begin_ns = monotonic_ns();
    at::Tensor received = message->wait();
    waited_ns += monotonic_ns() - begin_ns;
    return received;
  };
  if (head) {
    wait(pipeline.send(peer, header(false), gradient));
    wait(pipeline.receive(peer, header(true), gradient));
  } else {
    gradient.add_(wait(pipeline.receive(peer, header(false))));
    wait(pipeline.send(peer, header(true), gradient));
  }
  return waited_ns;
}

bool tied_copies_are_equal(RankGroup& world, const TiedWeight& tied) {
  std::string own;
  {
    const MemoryScope scope(MemoryOwner::recorder);
    for (const TrainedParameter* copy : tied.held()) own += digest(copy->trained()) + '\n';
  }
  std::set<std::string> copies;
  for (const std::string& lines : world.gather(own)) {
    std::istringstream in(lines);
    for (std::string copy; in >> copy;) copies.insert(copy);
  }
  return copies.size() <= 1;
}

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

double global_norm(RankGroup& group, const LlamaConfig& config, const std::vector<ParameterNorm>& own, bool counts) {
  if (group.size() == 1) return total_norm(config, own);
  std::string total;
  const std::vector<std::string> gathered = group.gather(counts ? to_lines(own) : "");
  if (group.rank() == 0) {
    std::vector<ParameterNorm> norms;
    for (const std::string& lines : gathered) append_lines(lines, norms);
    total = to_text(total_norm(config, norms));
  }
  return parse_double(group.broadcast(total)).value();
}

}  // namespace plumbline
