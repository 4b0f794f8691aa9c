// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/transport.hpp"

#include <mpi.h>

#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/transport/message.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "tests/pipeline/transport/transport_suite.hpp"

namespace plumbline {
namespace {

/// Runs the body once in every process. With a broken ending all wait for each other before the transports are
/// destroyed, so that no rank's end affects another rank's test.
struct Processes {
  static int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }

  static void run(TransportSettings settings, Ending ending, const Body& body) {
    run_on(make_mpi_transport(settings, [](const std::string&) {}), ending, body);
  }

  static void run_on(std::unique_ptr<Transport> transport, Ending ending, const Body& body) {
    try {
      body(*transport);
      if (ending == Ending::clean) transport->finish();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Mpi, TransportSuite, Processes);

TEST(MpiTransport, AbortsTheJobUnlessFinished) {
  std::string reason;
  {
    const auto left_early = make_mpi_transport(patient, [&](const std::string& why) { reason = why; });
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_EQ(reason, "it ended without finishing");

  reason.clear();
  {
    const auto finished = make_mpi_transport(patient, [&](const std::string& why) { reason = why; });
    finished->finish();
  }
  EXPECT_EQ(reason, "");
}

TEST(MpiTransport, AbortsWithTheFailureAsReason) {
  std::string reason;
  {
    const auto transport = make_mpi_transport(hasty, [&](const std::string& why) { reason = why; });
    if (transport->rank() == 0) {
      EXPECT_THROW(post_one(*transport, receive_from(*transport, 1, 3, {1, 2, 4}))->wait(), DeadlineError);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (transport->rank() != 0) transport->abort("planted");
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    EXPECT_THAT(reason, HasSubstr("rank 0 waits for RECV_F microbatch 3 from rank 1"));
  }
}

/// Rank 0 sends a head to rank 1, which announces a body of `announced` bytes; the body that follows has `follows`.
/// Returns the size that rank 1 received.
std::size_t body_received(std::size_t announced, std::size_t follows) {
  const auto endpoint = make_mpi_endpoint([](const std::string&) {});
  const int rank = endpoint->rank();
  std::size_t got = announced;
  {
    const std::vector<std::byte> body(follows, std::byte{7});
    std::vector<std::byte> buffer(announced + 64);
    std::int64_t head = 42;
    std::unique_ptr<TransportRequest> request;
    if (rank == 0) request = endpoint->send(1, Channel::forward, bytes_of(std::as_const(head)), body);
    if (rank == 1) {
      head = 0;
      request = endpoint->receive(0, Channel::forward, bytes_of(head), [&] { return Bytes(buffer).first(announced); });
    }
    while (request && !request->test()) std::this_thread::yield();
    if (rank == 1) {
      EXPECT_EQ(head, 42);
      got = request->body_bytes();
      if (got != announced) {
        EXPECT_THAT(buffer, ::testing::Each(std::byte{0})) << "nothing is written before its size is known";
      }
      EXPECT_THAT(std::span(buffer).subspan(announced), ::testing::Each(std::byte{0}));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  endpoint->close();
  return got;
}

TEST(MpiEndpoint, ReceivesABodyAsLongAsAnnounced) {
  EXPECT_EQ(body_received(100000, 100000), 100000U);
}

TEST(MpiEndpoint, DropsALongerOrShorterBody) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const std::size_t follows : {16U, 100000U}) {
    const auto got = body_received(4000, follows);
    if (rank == 1) {
      EXPECT_EQ(got, follows);
    }
  }
}

TEST(MpiTransport, NamesAPeerThatDiesAfterItsHeader) {
  auto endpoint = make_mpi_endpoint([](const std::string&) {});
  const int rank = endpoint->rank();
  const MessageHeader head = header(0, 1, 3, {2, 5, 4}, Direction::forward);
  std::unique_ptr<TransportRequest> sent;
  if (rank == 0) {
    sent = endpoint->send(1, Channel::forward, bytes_of(head), {});
    while (!sent->test()) std::this_thread::yield();
  }
  if (rank == 1) {
    MessageTransport t(std::move(endpoint), hasty);
    EXPECT_THAT(thrown_by<DeadlineError>([&] {
                  post_one(t, receive_from(t, 0, 3, {2, 5, 4}))->wait();
                }),
                HasSubstr("rank 1 waits for RECV_F microbatch 3 from rank 0, 2x5x4 float32, 0.1 s"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// MPI counts are int. Parts of 1000 bytes take the place of parts of 1 GiB; sizes are below, at, and above a multiple.
TEST(MpiTransport, MessagesLargerThanOnePartArriveWhole) {
  auto transport = std::make_unique<MessageTransport>(make_mpi_endpoint([](const std::string&) {}, 1000), patient);
  Processes::run_on(std::move(transport), Ending::clean, [](Transport& t) {
    if (t.rank() > 1) return;
    for (const std::int64_t elements : {1, 249, 250, 251, 499, 500, 501, 12345}) {
      if (t.rank() == 0) post(t, {send_to(t, 1, 0, content(0, 0, {elements})), send_to(t, 1, 1, content(0, 1, {3}))});
      if (t.rank() == 1) {
        auto ids = post(t, {receive_from(t, 0, 0, {elements}), receive_from(t, 0, 1, {3})});
        EXPECT_TRUE(at::equal(ids[1]->wait(), content(0, 1, {3})));
        EXPECT_TRUE(at::equal(ids[0]->wait(), content(0, 0, {elements}))) << elements;
      }
      t.wait_for_sends();
    }
  });
}

}  // namespace
}  // namespace plumbline
