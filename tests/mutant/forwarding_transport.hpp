// SPDX-License-Identifier: BSD-3-Clause
// A transport that forwards all calls, the base of the faulty ones.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "pipeline/transport/transport.hpp"

namespace plumbline::mutant {

class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void enter_steps() override { inner_.enter_steps(); }
  void leave_steps() override { inner_.leave_steps(); }
  void carry_request(std::function<bool()> request) override { inner_.carry_request(std::move(request)); }
  bool request_carried() const override { return inner_.request_carried(); }
  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    return inner_.send(peer, header, std::move(payload));
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    return inner_.receive(peer, expected, std::move(into));
  }
  void end_batch() override { inner_.end_batch(); }
  void wait_for_payloads() override { inner_.wait_for_payloads(); }
  void wait_for_sends() override { inner_.wait_for_sends(); }
  std::vector<TrafficCount> collect_traffic() override { return inner_.collect_traffic(); }
  void set_wait_callback(WaitCallback shown) override { inner_.set_wait_callback(std::move(shown)); }
  void show_long_waits(std::function<void(const std::string&)> show, std::chrono::milliseconds patience) override {
    inner_.show_long_waits(std::move(show), patience);
  }
  std::vector<std::string> gather(const std::string& bytes) override { return inner_.gather(bytes); }
  std::string broadcast(const std::string& bytes) override { return inner_.broadcast(bytes); }
  void barrier() override { inner_.barrier(); }
  void finish() override { inner_.finish(); }
  void abort(const std::string& reason, ExitCode code) noexcept override { inner_.abort(reason, code); }

 protected:
  Transport& inner_;
};

/// A message whose wait calls `wait` with the message.
class ForwardingMessage : public MessageInProgress {
 public:
  using Wait = std::function<at::Tensor(Pending& inner)>;
  ForwardingMessage(Pending inner, Wait wait) : inner_(std::move(inner)), wait_(std::move(wait)) {}
  bool test() override { return inner_->test(); }
  at::Tensor wait() override { return wait_(inner_); }

 private:
  Pending inner_;
  Wait wait_;
};
inline Pending with_wait(Pending inner, ForwardingMessage::Wait wait) {
  return std::make_shared<ForwardingMessage>(std::move(inner), std::move(wait));
}

}  // namespace plumbline::mutant
