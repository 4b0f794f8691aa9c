// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "support/error.hpp"

namespace plumbline {

std::int64_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool found = probe >= 0 && bind(probe, plain, size) == 0 && getsockname(probe, plain, &size) == 0;
  const int why = errno;
  if (probe >= 0) close(probe);
  if (!found) throw SystemError(std::string("no free port can be found: ") + std::strerror(why));
  return ntohs(address.sin_port);
}

}  // namespace plumbline
