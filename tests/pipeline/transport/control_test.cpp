// SPDX-License-Identifier: BSD-3-Clause
// Control messages from a peer that sends what no run sends: each field of a header is checked.
#include "pipeline/transport/control.hpp"

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

class ControlMessages : public ::testing::Test {
 protected:
  ScriptedEndpoint endpoint_;
  Control control_{
      endpoint_, [this](const std::string& what, const std::function<bool()>& ended) { EXPECT_TRUE(ended()) << what; }};
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

TEST_F(ControlMessages, RefuseAnotherHeaderAndNameWhatDiffers) {
  struct Case {
    void (*change)(ControlHeader&);
    const char* words;
  };
  const std::vector<Case> cases = {
      {[](auto& header) { header.magic = 0; }, "do not make the same control calls in the same order"},
      {[](auto& header) { header.kind = ControlKind::barrier; },
       "rank 1 expected broadcast (control message 0) from rank 0, which sent barrier (control message 0)"},
      {[](auto& header) { header.kind = static_cast<ControlKind>(3); }, "which sent unknown call"},
      {[](auto& header) { header.sequence = 1; },
       "expected broadcast (control message 0) from rank 0, which sent broadcast (control message 1)"}};
  for (const auto& [change, words] : cases) {
    endpoint_.incoming.clear();
    Control control(endpoint_, [](const std::string&, const std::function<bool()>& ended) { EXPECT_TRUE(ended()); });
    ControlHeader header{.kind = ControlKind::broadcast};
    change(header);
    endpoint_.comes(header);
    EXPECT_THAT(testing::error_of<RunError>([&] { control.broadcast(""); }), HasSubstr(words));
  }
}

TEST_F(ControlMessages, RefuseABodyOfAnotherSizeThanAnnounced) {
  endpoint_.comes({.kind = ControlKind::broadcast, .bytes = 6}, "short");

  EXPECT_THAT(testing::error_of<RunError>([&] { control_.broadcast(""); }),
              HasSubstr("brought 5 bytes to rank 1, not 6"));
}

}  // namespace
}  // namespace plumbline
