// SPDX-License-Identifier: BSD-3-Clause
// Control messages from a peer that sends what no run sends: each field of a header is checked.
#include "pipeline/transport/control.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <cstring>
#include <deque>
#include <vector>

#include "pipeline/transport/link.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rank 1 of two. `incoming` is what rank 0 sends, message by message; sent data is read when the message completes, as
/// a link may do.
class ScriptedLink : public Link {
 public:
  struct Sent {
    int peer;
    const void* data;
    std::size_t bytes;
  };

  int rank() const override { return 1; }
  int world_size() const override { return 2; }
  bool respects_capacity() const override { return true; }
  Handle send(int peer, Channel channel, const void* data, std::size_t bytes) override {
    EXPECT_EQ(channel, Channel::control);
    open_.push_back({peer, data, bytes});
    return open_.size();
  }
  Handle receive(int peer, Channel channel, void* data, std::size_t capacity) override {
    EXPECT_EQ(channel, Channel::control);
    EXPECT_EQ(peer, 0);
    if (incoming.empty()) throw std::logic_error("nothing more comes");
    EXPECT_EQ(incoming.front().size(), capacity);
    std::memcpy(data, incoming.front().data(), std::min(capacity, incoming.front().size()));
    incoming.pop_front();
    return 0;
  }
  std::optional<std::size_t> test(Handle handle) override {
    if (handle > 0) {
      const Sent& sent = open_.at(handle - 1);
      outgoing.emplace_back(static_cast<const char*>(sent.data), sent.bytes);
    }
    return 0;
  }
  void idle(std::chrono::steady_clock::time_point) override {}
  void abort(const std::string&, ExitCode) noexcept override {}
  void close() override {}

  void comes(const ControlHeader& header) {
    incoming.emplace_back(reinterpret_cast<const char*>(&header), sizeof header);
  }

  std::deque<std::string> incoming;
  std::vector<std::string> outgoing;

 private:
  std::vector<Sent> open_;
};

ControlHeader header_in(const std::string& bytes) {
  ControlHeader header;
  EXPECT_EQ(bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  return header;
}

/// Header of the weight below.
ControlHeader tied_header() {
  ControlHeader header;
  header.kind = ControlKind::tied;
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
  std::string error_of_receiving(const ControlHeader& header) {
    link_.comes(header);
    try {
      at::Tensor tensor = weight();
      control_.receive_tied(0, tensor);
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  }

  ScriptedLink link_;
  std::function<void()> waited_ = [] {};
  Control control_{link_, [this](const std::string& what, const std::function<bool()>& ended) {
                     waited_();
                     EXPECT_TRUE(ended()) << what;
                   }};
};

TEST_F(ControlMessages, AreNumberedWhenSent) {
  control_.gather("a");
  control_.gather("bc");

  ASSERT_EQ(link_.outgoing.size(), 4U);
  EXPECT_EQ(header_in(link_.outgoing[0]).sequence, 0U);
  EXPECT_EQ(header_in(link_.outgoing[2]).sequence, 1U);
  EXPECT_EQ(header_in(link_.outgoing[2]).bytes, 2U);
  EXPECT_EQ(link_.outgoing[3], "bc");
}

TEST_F(ControlMessages, SendATiedTensorsDtypeAndShape) {
  control_.send_tied(0, weight());

  ASSERT_EQ(link_.outgoing.size(), 2U);
  const ControlHeader header = header_in(link_.outgoing[0]), expected = tied_header();
  EXPECT_EQ(header.magic, expected.magic);
  EXPECT_EQ(header.kind, expected.kind);
  EXPECT_EQ(header.bytes, expected.bytes);
  EXPECT_EQ(header.dtype, expected.dtype);
  EXPECT_EQ(header.dimensions, expected.dimensions);
  EXPECT_EQ(header.sizes, expected.sizes);
}

TEST_F(ControlMessages, ReceiveAnExpectedTiedTensor) {
  link_.comes(tied_header());
  const std::vector<float> sent = {1, 2, 3, 4, 5, 6};
  link_.incoming.emplace_back(reinterpret_cast<const char*>(sent.data()), sent.size() * sizeof(float));
  at::Tensor tensor = weight();

  control_.receive_tied(0, tensor);

  EXPECT_EQ(tensor[1][2].item<float>(), 6);
}

TEST_F(ControlMessages, RefuseAnotherMagic) {
  ControlHeader header = tied_header();
  header.magic = 0;

  EXPECT_THAT(error_of_receiving(header), HasSubstr("do not make the same control calls in the same order"));
}

TEST_F(ControlMessages, RefuseAndNameAnotherKind) {
  ControlHeader header = tied_header();
  header.kind = ControlKind::barrier;

  EXPECT_THAT(error_of_receiving(header),
              AllOf(HasSubstr("rank 1 expected tied tensor (control message 0) from rank 0"),
                    HasSubstr("which sent barrier (control message 0)")));
}

TEST_F(ControlMessages, RefuseAnUnknownKind) {
  ControlHeader header = tied_header();
  header.kind = static_cast<ControlKind>(4);

  EXPECT_THAT(error_of_receiving(header), HasSubstr("which sent unknown call"));
}

TEST_F(ControlMessages, RefuseMessagesOutOfOrder) {
  ControlHeader header = tied_header();
  header.sequence = 1;

  EXPECT_THAT(
      error_of_receiving(header),
      HasSubstr("expected tied tensor (control message 0) from rank 0, which sent tied tensor (control message 1)"));
}

TEST_F(ControlMessages, RefuseATiedTensorOfAnotherDtype) {
  ControlHeader header = tied_header();
  header.dtype = static_cast<std::int32_t>(at::kInt);  // of the same size, but another dtype

  EXPECT_THAT(error_of_receiving(header),
              AllOf(HasSubstr("expected 2x3 float32"), HasSubstr("rank 0 sent 2x3 dtype 3")));
}

TEST_F(ControlMessages, RefuseATiedTensorOfOtherDimensions) {
  ControlHeader header = tied_header();
  header.dimensions = 3;

  EXPECT_THAT(error_of_receiving(header), HasSubstr("rank 0 sent 2x3x0 float32"));
}

TEST_F(ControlMessages, RefuseATiedTensorOfOtherSizes) {
  ControlHeader header = tied_header();
  header.sizes = {3, 2, 0, 0};  // as many bytes

  EXPECT_THAT(error_of_receiving(header), HasSubstr("rank 0 sent 3x2 float32; both ends must hold the same weight"));
}

TEST_F(ControlMessages, CheckTheHeaderOfAnAnnouncedTensor) {
  ControlHeader header = tied_header();
  header.sizes[0] = 5;
  link_.comes(header);

  EXPECT_THROW(control_.expect_tied(0, weight()), RunError);
}

TEST_F(ControlMessages, RefuseToSendAnInvalidTiedTensor) {
  EXPECT_THROW(control_.send_tied(0, at::Tensor()), std::logic_error);
  EXPECT_THROW(control_.send_tied(0, weight().t()), std::logic_error);
  EXPECT_THROW(control_.send_tied(0, at::ones({1, 1, 1, 1, 1})), std::logic_error);
  EXPECT_NO_THROW(control_.send_tied(0, at::ones({1, 1, 1, 1})));
}

// The link reads the bytes until the message has completed; afterwards nothing holds the memory.
TEST_F(ControlMessages, HoldATiedTensorOnlyWhileInProgress) {
  at::Tensor tensor = weight();
  std::vector<std::size_t> holders;
  waited_ = [&] { holders.push_back(tensor.use_count()); };

  control_.send_tied(0, tensor);
  link_.comes(tied_header());
  link_.incoming.emplace_back(6 * sizeof(float), '\0');
  control_.receive_tied(0, tensor);

  EXPECT_THAT(holders, ElementsAre(2, 2, 2, 2));  // header and bytes, out and in
  EXPECT_EQ(tensor.use_count(), 1U);
}

TEST_F(ControlMessages, HoldATiedTensorAfterAMissedDeadline) {
  at::Tensor tensor = weight();
  waited_ = [] { throw RunError("too late"); };

  EXPECT_THROW(control_.send_tied(0, tensor), RunError);

  EXPECT_EQ(tensor.use_count(), 2U) << "the other rank may still read it";
}

}  // namespace
}  // namespace plumbline
