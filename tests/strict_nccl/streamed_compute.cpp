// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/streamed_compute.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "pipeline/transport/group.hpp"
#include "pipeline/transport/message.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/memory_meter.hpp"

namespace plumbline::strict {
namespace {

Range range_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.nbytes()};
}

class StreamedCompute final : public Transport {
 public:
  StreamedCompute(StrictWorld& world, std::unique_ptr<Transport> inner, std::chrono::microseconds kernel_time)
      : world_(world), inner_(std::move(inner)), kernel_time_(kernel_time) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void connect(const std::vector<ConnectedRanks>& connections) override { inner_->connect(connections); }

  void enter_steps() override { inner_->enter_steps(); }
  void leave_steps() override { inner_->leave_steps(); }
  void carry_request(std::function<bool()> request) override { inner_->carry_request(std::move(request)); }
  bool request_carried() const override { return inner_->request_carried(); }
  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    const at::Tensor computed = std::exchange(payload, later(payload));
    keep(is_boundary(header) ? computed : payload);  // a gradient stays with the caller
    copy("compute of what is sent", computed, payload);
    return std::make_shared<Streamed>(*this, inner_->send(peer, header, std::move(payload)), false);
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    const bool given = into.defined();
    return std::make_shared<Streamed>(*this, inner_->receive(peer, expected, std::move(into)), given);
  }
  void end_batch() override { inner_->end_batch(); }
  void wait_for_payloads() override { inner_->wait_for_payloads(); }
  void wait_for_sends() override {
    inner_->wait_for_sends();
    while (!world_.compute_idle(rank())) std::this_thread::yield();
    release();
  }
  std::vector<TrafficCount> collect_traffic() override { return inner_->collect_traffic(); }
  void set_wait_callback(WaitCallback shown) override { inner_->set_wait_callback(std::move(shown)); }
  void show_long_waits(std::function<void(const std::string&)> show, std::chrono::milliseconds patience) override {
    inner_->show_long_waits(std::move(show), patience);
  }
  std::vector<std::string> gather(const std::string& bytes) override { return inner_->gather(bytes); }
  std::string broadcast(const std::string& bytes) override { return inner_->broadcast(bytes); }
  void barrier() override { inner_->barrier(); }
  void finish() override { inner_->finish(); }
  void abort(const std::string& reason, ExitCode code) noexcept override { inner_->abort(reason, code); }

 private:
  /// Memory like `tensor`'s with invalid content until a kernel has run.
  static at::Tensor later(const at::Tensor& tensor) {
    const MemoryScope scope(MemoryOwner::transport);
    at::Tensor made = at::empty_like(tensor);
    std::memset(made.mutable_data_ptr(), 0xff, made.nbytes());
    return made;
  }

  struct Streamed : MessageInProgress {
    Streamed(StreamedCompute& its_transport, Pending message, bool into_given)
        : transport(its_transport), inner(std::move(message)), given(into_given) {}
    bool test() override {
      if (transport.world_.compute_idle(transport.rank())) transport.release();
      return inner->test();
    }
    at::Tensor wait() override {
      at::Tensor arrived = inner->wait();
      return arrived.defined() ? transport.read(arrived, given) : arrived;
    }
    StreamedCompute& transport;
    Pending inner;
    bool given;  ///< the message arrives in the caller's own tensor
  };

  at::Tensor read(const at::Tensor& arrived, bool given) {
    at::Tensor read = later(arrived);
    keep(given ? read : arrived);
    copy("compute on what came", arrived, read);
    // The host cannot order itself after a stream here, so the trainer continues after its kernel has run.
    while (!world_.compute_idle(rank())) std::this_thread::yield();
    release();
    return given ? arrived : read;
  }

  struct Operands {
    at::Tensor from;
    at::Tensor to;
  };

  /// One buffer per message, as in the transport, or none for a gradient: more memory here would not be the rank's.
  void keep(const at::Tensor& buffer) {
    MemoryMeter& of_rank = this_thread_meter();
    held_.attach();
    retag(buffer, MemoryOwner::other);
    of_rank.attach();
  }

  void copy(const char* name, const at::Tensor& from, const at::Tensor& to) {
    const auto operands = std::make_shared<Operands>(Operands{from, to});
    in_use_.push_back(operands);
    world_.launch(rank(), {.name = name,
                           .reads = {range_of(from)},
                           .writes = {range_of(to)},
                           .body =
                               [operands] {
                                 std::memcpy(operands->to.mutable_data_ptr(), operands->from.const_data_ptr(),
                                             operands->from.nbytes());
                               },
                           .time = kernel_time_});
  }

  /// All kernels have run. Releases their tensors here, on the rank's own thread, since the thread that ran a kernel
  /// may destroy it at any time, and the trainer's memory is counted.
  void release() {
    for (const auto& operands : in_use_) *operands = {};
    in_use_.clear();
  }

  StrictWorld& world_;
  std::unique_ptr<Transport> inner_;
  std::vector<std::shared_ptr<Operands>> in_use_;
  MemoryMeter& held_ = new_memory_meter();
  std::chrono::microseconds kernel_time_;
};

}  // namespace

std::unique_ptr<Transport> stream_compute(StrictWorld& world, std::unique_ptr<Transport> inner,
                                          std::chrono::microseconds kernel_time) {
  return std::make_unique<StreamedCompute>(world, std::move(inner), kernel_time);
}

}  // namespace plumbline::strict
