#include "pipeline/tied_exchange.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <set>
#include <sstream>
#include <string>

#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

void exchange_tied_gradients(Transport& transport, const TiedWeight& tied, int peer) {
  if (tied.both()) return tied.add_uses();
  const MemoryScope scope(MemoryOwner::transport);
  if (tied.head() != nullptr) {
    at::Tensor gradient = tied.head()->gradient();
    transport.send_tied(peer, gradient);
    transport.receive_tied(peer, gradient);
  } else {
    at::Tensor gradient = tied.embedding()->gradient();
    at::Tensor other = at::empty_like(gradient);
    transport.receive_tied(peer, other);
    gradient.add_(other);
    transport.send_tied(peer, gradient);
  }
}

bool tied_copies_are_equal(Transport& transport, const TiedWeight& tied) {
  std::string own;
  {
    const MemoryScope scope(MemoryOwner::recorder);
    for (const TrainedParameter* copy : tied.held()) own += digest(copy->trained()) + '\n';
  }
  std::set<std::string> copies;
  for (const std::string& lines : transport.gather(own)) {
    std::istringstream in(lines);
    for (std::string copy; in >> copy;) copies.insert(copy);
  }
  return copies.size() <= 1;
}

}  // namespace plumbline
