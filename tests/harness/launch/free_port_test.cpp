// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "harness/launch/launcher.hpp"
#include "tests/harness/launch/open_files.hpp"

namespace plumbline::testing {
namespace {

TEST(FreePort, CanBeListenedOn) {
  const auto before = open_files();
  const std::int64_t port = free_port();
  EXPECT_EQ(open_files(), before);
  ASSERT_GT(port, 0);
  ASSERT_LE(port, 65535);

  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  close(listener);
}

}  // namespace
}  // namespace plumbline::testing
