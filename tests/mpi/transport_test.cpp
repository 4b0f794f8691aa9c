// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include "pipeline/transport/deadline_error.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_link.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "tests/pipeline/transport/transport_suite.hpp"

namespace plumbline {
namespace {

/// Every process runs the body once. With a broken ending all wait for each other before the transports are destroyed,
/// so that no rank's end affects another rank's test.
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
  EXPECT_EQ(reason, "it left without a clean end");

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
      EXPECT_THROW(transport->wait(transport->post({receive_from(*transport, 1, 3, {1, 2, 4})}).at(0)), DeadlineError);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (transport->rank() != 0) transport->abort("told to");
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    EXPECT_THAT(reason, HasSubstr("rank 0 waits for RECV_F microbatch 3 from rank 1"));
  }
}

TEST(MpiLink, AHandleIsInvalidAfterItsMessageCompleted) {
  const auto link = make_mpi_link([](const std::string&) {});
  ASSERT_GE(link->world_size(), 2);
  if (link->rank() < 2) {
    std::int32_t number = link->rank() == 0 ? 42 : 0;
    const Link::Handle handle = link->rank() == 0 ? link->send(1, Channel::control, &number, sizeof number)
                                                  : link->receive(0, Channel::control, &number, sizeof number);
    std::optional<std::size_t> bytes;
    while (!bytes) bytes = link->test(handle);

    EXPECT_EQ(bytes, sizeof number);
    EXPECT_EQ(number, 42);
    EXPECT_THROW(link->test(handle), std::logic_error);
  }
  link->close();
  MPI_Barrier(MPI_COMM_WORLD);
}

// MPI counts are int. Parts of 1000 bytes stand for parts of 1 GiB: sizes below, at, and above a multiple of it.
TEST(MpiTransport, MessagesLargerThanOnePartArriveWhole) {
  auto transport = std::make_unique<MessageTransport>(make_mpi_link([](const std::string&) {}, 1000), patient);
  Processes::run_on(std::move(transport), Ending::clean, [](Transport& t) {
    if (t.rank() > 1) return;
    for (const std::int64_t elements : {1, 249, 250, 251, 499, 500, 501, 12345}) {
      if (t.rank() == 0) t.post({send_to(t, 1, 0, content(0, 0, {elements})), send_to(t, 1, 1, content(0, 1, {3}))});
      if (t.rank() == 1) {
        const auto ids = t.post({receive_from(t, 0, 0, {elements}), receive_from(t, 0, 1, {3})});
        EXPECT_TRUE(at::equal(t.wait(ids[1]), content(0, 1, {3})));
        EXPECT_TRUE(at::equal(t.wait(ids[0]), content(0, 0, {elements}))) << elements;
      }
      t.wait_for_sends();
    }
  });
}

}  // namespace
}  // namespace plumbline
