#include "pipeline/transport/message_transport.hpp"

#include <algorithm>
#include <stdexcept>

#include "pipeline/transport/message.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

Channel header_channel(Direction direction) {
  return direction == Direction::forward ? Channel::forward_header : Channel::backward_header;
}

Channel payload_channel(Direction direction) {
  return direction == Direction::forward ? Channel::forward : Channel::backward;
}

// The side is part of the id, so that an ended send and a receive taken twice can be told apart without a list of the
// past.
OperationId make_id(std::uint64_t number, bool send) {
  return 2 * number + (send ? 1 : 0);
}
bool is_send_id(OperationId id) {
  return id % 2 == 1;
}

}  // namespace

MessageTransport::MessageTransport(std::unique_ptr<Link> link, TransportSettings settings)
    : link_(std::move(link)),
      settings_(settings),
      control_(*link_, [this](const std::string& what, const std::function<bool()>& ended) {
        wait_until([&] { return what; }, ended);
      }) {}

MessageTransport::~MessageTransport() {
  if (finished_) return;
  // Nobody may wait for this rank any longer. The link goes first: what is open points into the operations' memory.
  link_->abort(failure_.empty() ? "it left without a clean end" : failure_, ExitCode::does_not_hold);
  link_.reset();
}

template <typename Body>
auto MessageTransport::guarded(const Body& body) {
  if (finished_) throw std::logic_error("the transport was used after finish");
  if (!failure_.empty()) throw RunError(failure_);
  try {
    return body();
  } catch (const RunError& error) {
    failure_ = error.what();
    throw;
  }
}

std::vector<OperationId> MessageTransport::post(std::vector<Operation> batch) {
  return guarded([&] {
    for (const Operation& operation : batch) {
      if (!is_communication(operation.action.type)) throw std::logic_error("only messages can be posted");
      if (operation.peer < 0 || operation.peer >= world_size() || operation.peer == rank()) {
        throw std::logic_error("a message to or from rank " + std::to_string(operation.peer) +
                               " cannot be posted by rank " + std::to_string(rank()) + " of " +
                               std::to_string(world_size()));
      }
      if (is_send(operation)) check_payload(rank(), operation);
    }
    progress();
    std::vector<OperationId> ids;
    for (Operation& operation : batch) {
      ids.push_back(is_send(operation) ? start_send(std::move(operation)) : start_receive(std::move(operation)));
    }
    if (!ids.empty()) ++batches_posted_;
    return ids;
  });
}

MessageTransport::Edge& MessageTransport::edge(const Operation& operation) {
  return edges_[{operation.peer, direction_of(operation), is_send(operation)}];
}

OperationId MessageTransport::start_send(Operation operation) {
  const OperationId id = make_id(posted_++, true);
  Open& open = open_[id];
  open.operation = std::move(operation);
  const Direction direction = direction_of(open.operation);
  const int peer = open.operation.peer;
  open.operation.header.sequence = edge(open.operation).sequence++;
  open.header = link_->send(peer, header_channel(direction), &open.operation.header, sizeof(MessageHeader));
  const at::Tensor& payload = open.operation.payload;
  open.payload = link_->send(peer, payload_channel(direction), payload.const_data_ptr(), payload.nbytes());
  return id;
}

OperationId MessageTransport::start_receive(Operation operation) {
  const OperationId id = make_id(posted_++, false);
  Open& open = open_[id];
  open.operation = std::move(operation);
  Edge& incoming = edge(open.operation);
  MessageHeader& header = open.operation.header;
  header.sequence = incoming.sequence++;
  open.operation.payload = header.dimensions == 0 ? at::Tensor() : allocate_buffer(rank(), header);
  open.header = link_->receive(open.operation.peer, header_channel(direction_of(open.operation)), &open.got,
                               sizeof(MessageHeader));
  incoming.waiting_for_header.push_back(id);
  post_payloads(incoming);
  return id;
}

void MessageTransport::post_payloads(Edge& edge) {
  while (!edge.waiting_for_header.empty()) {
    Open& open = open_.at(edge.waiting_for_header.front());
    at::Tensor& buffer = open.operation.payload;
    const bool early = buffer.defined() && link_->respects_capacity();
    if (!early && !open.header_checked) return;  // a later one must not overtake it: the channel has no tags
    open.payload = link_->receive(open.operation.peer, payload_channel(direction_of(open.operation)),
                                  buffer.mutable_data_ptr(), buffer.nbytes());
    edge.waiting_for_header.pop_front();
  }
}

void MessageTransport::advance(Open& open) {
  Operation& operation = open.operation;
  if (open.header && link_->test(*open.header)) {
    open.header.reset();
    if (!is_send(operation)) {
      check_header(rank(), operation, open.got);
      open.header_checked = true;
      if (!operation.payload.defined()) {
        operation.payload = allocate_buffer(rank(), open.got);
        operation.header = open.got;
      }
      post_payloads(edge(operation));
    }
  }
  // A receive's data is not looked at before its header agrees.
  if (open.payload && (is_send(operation) || open.header_checked)) {
    const std::optional<std::size_t> bytes = link_->test(*open.payload);
    if (bytes) {
      open.payload.reset();
      open.payload_moved = true;
      if (*bytes != operation.payload.nbytes()) {
        throw RunError("rank " + std::to_string(rank()) + ", " + describe(operation) + ": " + std::to_string(*bytes) +
                       " bytes came in place of " + std::to_string(operation.payload.nbytes()));
      }
      traffic_.add(operation.peer, direction_of(operation), is_send(operation), static_cast<std::int64_t>(*bytes));
    }
  }
  open.ended = open.payload_moved && !open.header;
}

void MessageTransport::progress() {
  for (auto entry = open_.begin(); entry != open_.end();) {
    Open& open = entry->second;
    if (!open.ended) advance(open);
    const bool drop = open.ended && is_send(open.operation);
    entry = drop ? open_.erase(entry) : std::next(entry);
  }
}

bool MessageTransport::has_ended(OperationId id) {
  const auto entry = open_.find(id);
  if (entry != open_.end()) return entry->second.ended;
  if (id / 2 >= posted_) throw std::logic_error("operation " + std::to_string(id) + " was never posted");
  if (!is_send_id(id)) throw std::logic_error("a receive was waited for twice");
  return true;
}

void MessageTransport::wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended) {
  const auto deadline = std::chrono::steady_clock::now() + settings_.timeout;
  while (true) {
    // Read before looking: a rank that was stopped looks once more before it blames another.
    const auto now = std::chrono::steady_clock::now();
    progress();
    if (ended()) return;
    if (now >= deadline) {
      throw DeadlineError(waiting_text(rank(), what(), settings_.timeout) +
                          ": that is the time limit; if the other rank is only slow, raise pipeline.timeout_ms");
    }
    link_->idle(deadline);
  }
}

bool MessageTransport::test(OperationId id) {
  return guarded([&] {
    progress();
    return has_ended(id);
  });
}

at::Tensor MessageTransport::wait(OperationId id) {
  return guarded([&] {
    wait_until([&] { return describe(open_.at(id).operation); }, [&] { return has_ended(id); });
    if (is_send_id(id)) return at::Tensor();
    const auto entry = open_.extract(id);
    return std::move(entry.mapped().operation.payload);
  });
}

void MessageTransport::reap_sends() {
  guarded([&] {
    const auto first_send = [&] {
      return std::find_if(open_.begin(), open_.end(), [](const auto& entry) { return is_send_id(entry.first); });
    };
    wait_until([&] { return describe(first_send()->second.operation); }, [&] { return first_send() == open_.end(); });
  });
}

std::vector<std::string> MessageTransport::gather(const std::string& bytes) {
  return guarded([&] { return control_.gather(bytes); });
}

std::string MessageTransport::broadcast(const std::string& bytes) {
  return guarded([&] { return control_.broadcast(bytes); });
}

void MessageTransport::barrier() {
  guarded([&] { control_.barrier(); });
}

void MessageTransport::send_tied(int peer, const at::Tensor& tensor) {
  guarded([&] { control_.send_tied(peer, tensor); });
}

void MessageTransport::receive_tied(int peer, at::Tensor& tensor) {
  guarded([&] { control_.receive_tied(peer, tensor); });
}

void MessageTransport::abort(const std::string& reason, ExitCode code) noexcept {
  link_->abort(reason, code);
}

void MessageTransport::finish() {
  guarded([&] {
    progress();
    if (!open_.empty()) {
      throw RunError("rank " + std::to_string(rank()) + " ends with " + std::to_string(open_.size()) +
                     " operations open, the first is " + describe(open_.begin()->second.operation));
    }
    control_.barrier();
    link_->close();
    finished_ = true;
  });
}

}  // namespace plumbline
