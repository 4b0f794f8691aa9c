// SPDX-License-Identifier: BSD-3-Clause
// Control messages from a peer that sends what no run sends: each field of a header is checked.
#include "pipeline/transport/control.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "pipeline/transport/endpoint.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;

/// Rank 1 of two. `incoming` has the messages that rank 0 sends. Sent data is read when the message ends, as an
/// endpoint may do.
class ScriptedEndpoint : public Endpoint {
 public:
  struct Text {
    std::string head, body;
  };

  int rank() const override { return 1; }
  int world_size() const override { return 2; }
  std::unique_ptr<TransportRequest> send(int /*peer*/, Channel channel, ConstBytes head, ConstBytes body) override {
    EXPECT_EQ(channel, Channel::control);
    return std::make_unique<Step>([this, head, body] {
      outgoing.push_back({{reinterpret_cast<const char*>(head.data()), head.size()},
                          {reinterpret_cast<const char*>(body.data()), body.size()}});
      return std::size_t{0};
    });
  }
  std::unique_ptr<TransportRequest> receive(int peer, Channel channel, Bytes head, Place place) override {
    EXPECT_EQ(channel, Channel::control);
    EXPECT_EQ(peer, 0);
    if (incoming.empty()) throw std::logic_error("nothing more comes");
    const Text text = std::move(incoming.front());
    incoming.pop_front();
    EXPECT_EQ(text.head.size(), head.size());
    return std::make_unique<Step>([text, head, place] {
      std::memcpy(head.data(), text.head.data(), head.size());
      const Bytes body = place();
      if (body.size() == text.body.size()) std::ranges::copy(std::as_bytes(std::span(text.body)), body.begin());
      return text.body.size();
    });
  }
  void idle(std::chrono::steady_clock::time_point) override {}
  void abort(const std::string&, ExitCode) noexcept override {}
  void close() override {}

  void comes(const ControlHeader& header, const std::string& body = "") {
    incoming.push_back({{reinterpret_cast<const char*>(&header), sizeof header}, body});
  }

  std::deque<Text> incoming;
  std::vector<Text> outgoing;

 private:
  class Step : public TransportRequest {
   public:
    explicit Step(std::function<std::size_t()> end) : end_(std::move(end)) {}
    bool test() override {
      body_bytes_ = end_();
      return true;
    }

   private:
    std::function<std::size_t()> end_;
  };
};

ControlHeader header_in(const std::string& bytes) {
  ControlHeader header;
  EXPECT_EQ(bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  return header;
}

/// Header of the weight below.
ControlHeader tensor_header() {
  ControlHeader header;
  header.kind = ControlKind::tensor;
  header.bytes = 6 * sizeof(float);
  header.dtype = static_cast<std::int32_t>(at::kFloat);
  header.dimensions = 2;
  header.sizes = {2, 3, 0, 0};
  return header;
}

at::Tensor weight() {
  return at::ones({2, 3}, at::kFloat);
}

class ControlMessages : public ::testing::Test {
 protected:
  ScriptedEndpoint endpoint_;
  std::function<void()> waited_ = [] {};
  Control control_{endpoint_, [this](const std::string& what, const std::function<bool()>& ended) {
                     waited_();
                     EXPECT_TRUE(ended()) << what;
                   }};
};

TEST_F(ControlMessages, AreNumberedWhenSent) {
  control_.gather("a");
  control_.gather("bc");

  ASSERT_EQ(endpoint_.outgoing.size(), 2U);
  EXPECT_EQ(header_in(endpoint_.outgoing[0].head).sequence, 0U);
  EXPECT_EQ(header_in(endpoint_.outgoing[1].head).sequence, 1U);
  EXPECT_EQ(header_in(endpoint_.outgoing[1].head).bytes, 2U);
  EXPECT_EQ(endpoint_.outgoing[1].body, "bc");
}

TEST_F(ControlMessages, SendATensorsDtypeAndShape) {
  control_.send_tensor(0, weight());

  ASSERT_EQ(endpoint_.outgoing.size(), 1U);
  EXPECT_EQ(endpoint_.outgoing[0].body.size(), 6 * sizeof(float));
  const ControlHeader header = header_in(endpoint_.outgoing[0].head), expected = tensor_header();
  EXPECT_EQ(header.magic, expected.magic);
  EXPECT_EQ(header.kind, expected.kind);
  EXPECT_EQ(header.bytes, expected.bytes);
  EXPECT_EQ(header.dtype, expected.dtype);
  EXPECT_EQ(header.dimensions, expected.dimensions);
  EXPECT_EQ(header.sizes, expected.sizes);
}

TEST_F(ControlMessages, ReceiveAnExpectedTensor) {
  const std::vector<float> sent = {1, 2, 3, 4, 5, 6};
  endpoint_.comes(tensor_header(), {reinterpret_cast<const char*>(sent.data()), sent.size() * sizeof(float)});
  at::Tensor tensor = weight();

  control_.receive_tensor(0, tensor);

  EXPECT_EQ(tensor[1][2].item<float>(), 6);
}

TEST_F(ControlMessages, RefuseAnotherHeaderAndNameWhatDiffers) {
  struct Case {
    void (*change)(ControlHeader&);
    const char *words, *and_words = "";
  };
  const std::vector<Case> cases = {
      {[](auto& header) { header.magic = 0; }, "do not make the same control calls in the same order"},
      {[](auto& header) { header.kind = ControlKind::barrier; },
       "rank 1 expected tensor (control message 0) from rank 0", "which sent barrier (control message 0)"},
      {[](auto& header) { header.kind = static_cast<ControlKind>(4); }, "which sent unknown call"},
      {[](auto& header) { header.sequence = 1; },
       "expected tensor (control message 0) from rank 0, which sent tensor (control message 1)"},
      // Of the same size, but another dtype.
      {[](auto& header) { header.dtype = static_cast<std::int32_t>(at::kInt); }, "expected 2x3 float32",
       "rank 0 sent 2x3 dtype 3"},
      {[](auto& header) { header.dimensions = 3; }, "rank 0 sent 2x3x0 float32"},
      {[](auto& header) {  // as many bytes
         header.sizes = {3, 2, 0, 0};
       },
       "rank 0 sent 3x2 float32; both ends must hold the same weight"}};
  for (const auto& [change, words, and_words] : cases) {
    endpoint_.incoming.clear();
    Control control(endpoint_, [](const std::string&, const std::function<bool()>& ended) { EXPECT_TRUE(ended()); });
    ControlHeader header = tensor_header();
    change(header);
    endpoint_.comes(header);
    at::Tensor tensor = weight();
    EXPECT_THAT(testing::error_of<RunError>([&] { control.receive_tensor(0, tensor); }),
                AllOf(HasSubstr(words), HasSubstr(and_words)));
  }
}

TEST_F(ControlMessages, RefuseABodyOfAnotherSizeThanAnnounced) {
  endpoint_.comes(tensor_header(), "short");
  at::Tensor tensor = weight();

  EXPECT_THROW(control_.receive_tensor(0, tensor), RunError);
  EXPECT_TRUE(tensor.equal(weight()));
}

TEST_F(ControlMessages, CheckTheHeaderOfAnAnnouncedTensor) {
  ControlHeader header = tensor_header();
  header.sizes[0] = 5;
  endpoint_.comes(header);

  EXPECT_THROW(control_.expect_tensor(0, weight()), RunError);
}

TEST_F(ControlMessages, RefuseToSendAnInvalidTensor) {
  EXPECT_THROW(control_.send_tensor(0, at::Tensor()), std::logic_error);
  EXPECT_THROW(control_.send_tensor(0, weight().t()), std::logic_error);
  EXPECT_THROW(control_.send_tensor(0, at::ones({1, 1, 1, 1, 1})), std::logic_error);
  EXPECT_NO_THROW(control_.send_tensor(0, at::ones({1, 1, 1, 1})));
}

// The endpoint reads the bytes until the message has completed; afterwards nothing keeps the memory.
TEST_F(ControlMessages, HoldATensorOnlyWhileInProgress) {
  at::Tensor tensor = weight();
  std::vector<std::size_t> holders;
  waited_ = [&] { holders.push_back(tensor.use_count()); };

  control_.send_tensor(0, tensor);
  endpoint_.comes(tensor_header(), std::string(6 * sizeof(float), '\0'));
  control_.receive_tensor(0, tensor);

  EXPECT_THAT(holders, ElementsAre(2, Ge(2)));  // out and in
  EXPECT_EQ(tensor.use_count(), 1U);
}

TEST_F(ControlMessages, HoldATensorAfterAMissedDeadline) {
  at::Tensor tensor = weight();
  waited_ = [] { throw RunError("too late"); };

  EXPECT_THROW(control_.send_tensor(0, tensor), RunError);

  EXPECT_EQ(tensor.use_count(), 2U) << "the other rank may still read it";
}

}  // namespace
}  // namespace plumbline
